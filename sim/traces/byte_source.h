#pragma once

// The bytes of a trace: from a file, from memory, or decompressed from gzip data. Bytes are pulled
// in chunks of the caller's size, so that memory does not grow with the file.

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/status.h"

namespace recto::sim {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Writes up to `buffer.size()` (> 0) bytes and returns how many; 0 means the permanent end. Error
  // messages do not name the file; the caller knows it.
  virtual Result<std::size_t> read(std::span<char> buffer) = 0;
};

// The file's raw bytes. kInvalidInput for a missing file or a directory.
Result<std::unique_ptr<ByteSource>> open_file_source(const std::string& path);

std::unique_ptr<ByteSource> make_memory_source(std::string bytes);

// `source` itself, or its decompressed content if it starts with gzip's magic bytes. Consecutive
// members are concatenated, as gzip does. Other data after a member is an error, as is truncated
// data. Holds `chunk_bytes` (> 0) of compressed data at a time.
Result<std::unique_ptr<ByteSource>> decompress_if_gzip(std::unique_ptr<ByteSource> source,
                                                       std::size_t chunk_bytes);

}  // namespace recto::sim
