#pragma once

// Decompresses gzip data as it is pulled; see `decompress_if_gzip` in byte_source.h.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <zlib.h>

#include "core/status.h"
#include "sim/traces/byte_source.h"

namespace recto::sim {

inline constexpr std::string_view kGzipMagic = "\x1f\x8b";

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
  Status problem_;                // once set, it stays
  std::int64_t bytes_taken_ = 0;  // compressed bytes pulled so far
};

}  // namespace recto::sim
