#include "sim/traces/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

#include "core/contract.h"
#include "core/input_file.h"

namespace recto::sim {
namespace {

class FileSource final : public ByteSource {
 public:
  explicit FileSource(InputFile file) : file_(std::move(file)) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file_.get());
    if (count == 0 && std::ferror(file_.get()) != 0) {
      return Status::failed(std::string("cannot be read: ") + std::strerror(errno));
    }
    return count;
  }

 private:
  InputFile file_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_(std::move(bytes)) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    const std::size_t count = std::min(buffer.size(), bytes_.size() - position_);
    std::copy_n(bytes_.data() + position_, count, buffer.data());
    position_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::size_t position_ = 0;
};

// First returns the bytes that were read ahead to detect the content: pipes cannot seek.
class PrefixedSource final : public ByteSource {
 public:
  PrefixedSource(std::string prefix, std::unique_ptr<ByteSource> rest)
      : prefix_(std::move(prefix)), rest_(std::move(rest)) {}

  Result<std::size_t> read(std::span<char> buffer) override {
    const Result<std::size_t> from_prefix = prefix_.read(buffer);
    return from_prefix.value() > 0 ? from_prefix : rest_->read(buffer);
  }

 private:
  MemorySource prefix_;
  std::unique_ptr<ByteSource> rest_;
};

constexpr std::string_view kGzipMagic = "\x1f\x8b";

// Decompresses gzip data as it is pulled.
class GzipSource final : public ByteSource {
 public:
  // Holds `chunk_bytes` (> 0) of compressed data at a time.
  GzipSource(std::unique_ptr<ByteSource> compressed, std::size_t chunk_bytes);
  ~GzipSource() override;
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  Result<std::size_t> read(std::span<char> buffer) override;

 private:
  enum class Place { kInsideMember, kBetweenMembers, kEnd };

  // Makes one step: some output, or progress towards it.
  Status advance();
  // Ensures that compressed bytes are available, unless the source is at its end.
  Status refill();
  // Decides whether another member, the end, or garbage follows.
  Status enter_next_member();
  Status inflate_some();
  std::int64_t offset() const { return bytes_taken_ - static_cast<std::int64_t>(stream_.avail_in); }

  std::unique_ptr<ByteSource> compressed_;
  std::vector<char> chunk_;
  z_stream stream_ = {};
  Place place_ = Place::kInsideMember;
  Status problem_;                // permanent once set
  std::int64_t bytes_taken_ = 0;  // compressed bytes pulled so far
};

constexpr int kGzipOnly = 16;  // added to the window bits: gzip's wrapper and no other

GzipSource::GzipSource(std::unique_ptr<ByteSource> compressed, std::size_t chunk_bytes)
    : compressed_(std::move(compressed)), chunk_(chunk_bytes) {
  RECTO_CHECK_GT(chunk_bytes, std::size_t{0});
  RECTO_CHECK_EQ(inflateInit2(&stream_, MAX_WBITS + kGzipOnly), Z_OK);
}

GzipSource::~GzipSource() { inflateEnd(&stream_); }

Result<std::size_t> GzipSource::read(std::span<char> buffer) {
  const std::size_t room =
      std::min<std::size_t>(buffer.size(), std::numeric_limits<unsigned>::max());
  stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
  stream_.avail_out = static_cast<unsigned>(room);
  while (stream_.avail_out == room && place_ != Place::kEnd && problem_.is_ok()) {
    problem_ = advance();
  }
  // Output from before the damage is returned first.
  const std::size_t count = room - stream_.avail_out;
  if (count == 0 && !problem_.is_ok()) return problem_;
  return count;
}

Status GzipSource::advance() {
  RECTO_RETURN_IF_ERROR(refill());
  return place_ == Place::kBetweenMembers ? enter_next_member() : inflate_some();
}

Status GzipSource::refill() {
  if (stream_.avail_in > 0) return Status::ok();
  const Result<std::size_t> count = compressed_->read(chunk_);
  if (!count.is_ok()) return count.status();
  stream_.next_in = reinterpret_cast<Bytef*>(chunk_.data());
  stream_.avail_in = static_cast<unsigned>(count.value());
  bytes_taken_ += static_cast<std::int64_t>(count.value());
  return Status::ok();
}

Status GzipSource::enter_next_member() {
  if (stream_.avail_in == 0) {
    place_ = Place::kEnd;
    return Status::ok();
  }
  // If only the first magic byte matches, inflate itself reports the data as corrupt or truncated.
  if (*stream_.next_in != static_cast<Bytef>(kGzipMagic[0])) {
    return Status::invalid_input("bytes that are not gzip follow the gzip data, from offset " +
                                 std::to_string(offset()));
  }
  RECTO_CHECK_EQ(inflateReset(&stream_), Z_OK);
  place_ = Place::kInsideMember;
  return Status::ok();
}

Status GzipSource::inflate_some() {
  // zlib may hold output of input that it has consumed, so the end of the input is not yet the end.
  const int code = inflate(&stream_, Z_NO_FLUSH);
  if (code == Z_BUF_ERROR && stream_.avail_in == 0) {
    return Status::invalid_input("gzip data is truncated: it stops at offset " +
                                 std::to_string(offset()) + " inside a member");
  }
  if (code == Z_STREAM_END) {
    place_ = Place::kBetweenMembers;
  } else if (code != Z_OK && code != Z_BUF_ERROR) {
    return Status::invalid_input("gzip data is corrupt at offset " + std::to_string(offset()) +
                                 ": " + (stream_.msg != nullptr ? stream_.msg : "bad data"));
  }
  return Status::ok();
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_file_source(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Status::invalid_input("is a directory: expected a trace file");
  }
  Result<InputFile> file = open_input_file(path);
  if (!file.is_ok() && path == "-") {
    return Status::invalid_input("does not name standard input here: expected a trace file");
  }
  RECTO_RETURN_IF_ERROR(file.status().in("cannot be opened"));
  // Unbuffered, because readers have their own buffer.
  std::setvbuf(file.value().get(), nullptr, _IONBF, 0);
  return std::unique_ptr<ByteSource>(std::make_unique<FileSource>(std::move(file).value()));
}

std::unique_ptr<ByteSource> make_memory_source(std::string bytes) {
  return std::make_unique<MemorySource>(std::move(bytes));
}

Result<std::unique_ptr<ByteSource>> decompress_if_gzip(std::unique_ptr<ByteSource> source,
                                                       std::size_t chunk_bytes) {
  std::array<char, kGzipMagic.size()> head;
  std::size_t held = 0;
  while (held < head.size()) {
    const Result<std::size_t> count = source->read(std::span(head).subspan(held));
    if (!count.is_ok()) return count.status();
    if (count.value() == 0) break;
    held += count.value();
  }
  const std::string prefix(head.data(), held);
  auto whole = std::make_unique<PrefixedSource>(prefix, std::move(source));
  if (prefix != kGzipMagic) return std::unique_ptr<ByteSource>(std::move(whole));
  return std::unique_ptr<ByteSource>(std::make_unique<GzipSource>(std::move(whole), chunk_bytes));
}

}  // namespace recto::sim
