#include "sim/traces/gzip_source.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "core/contract.h"

namespace recto::sim {
namespace {

constexpr int kGzipOnly = 16;  // added to the window bits: gzip's wrapper and no other

}  // namespace

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
  // What came out before the data went bad is handed out first.
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
  // A lone first byte of the magic is told apart by inflate itself, as corrupt or truncated.
  if (*stream_.next_in != static_cast<Bytef>(kGzipMagic[0])) {
    return Status::invalid_input("bytes that are not gzip follow the gzip data, from offset " +
                                 std::to_string(offset()));
  }
  RECTO_CHECK_EQ(inflateReset(&stream_), Z_OK);
  place_ = Place::kInsideMember;
  return Status::ok();
}

Status GzipSource::inflate_some() {
  if (stream_.avail_in == 0) {
    return Status::invalid_input("gzip data is truncated: it stops at offset " +
                                 std::to_string(offset()) + " inside a member");
  }
  const int code = inflate(&stream_, Z_NO_FLUSH);
  if (code == Z_STREAM_END) {
    place_ = Place::kBetweenMembers;
  } else if (code != Z_OK && code != Z_BUF_ERROR) {
    return Status::invalid_input("gzip data is corrupt at offset " + std::to_string(offset()) +
                                 ": " + (stream_.msg != nullptr ? stream_.msg : "bad data"));
  }
  return Status::ok();
}

}  // namespace recto::sim
