#include "sim/traces/byte_source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/input_file.h"
#include "sim/traces/gzip_source.h"

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

// First returns what was read ahead to recognise the content. Pipes cannot seek.
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

}  // namespace

Result<std::unique_ptr<ByteSource>> open_file_source(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Status::invalid_input("is a directory: expected a trace file");
  }
  Result<InputFile> file = open_input_file(path);
  if (!file.is_ok() && path == "-") {
    return Status::invalid_input("is no name of standard input here: expected a trace file");
  }
  RECTO_RETURN_IF_ERROR(file.status().in("cannot be opened"));
  // Unbuffered, as readers have a buffer of their own.
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
