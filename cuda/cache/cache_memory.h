#pragma once

// The memory of a manager, in bytes: all that it allocates when it is created, except a fixed few
// hundred bytes and some for each layer group.
//
//   const CacheMemory memory = manager.memory();
//   const std::int64_t bytes_each = memory.block_bytes / manager.options().num_blocks.value();

#include <cstdint>

namespace recto::cache {

struct CacheMemory {
  std::int64_t block_bytes = 0;     // of the device's blocks: who holds them, and what is in them
  std::int64_t token_bytes = 0;     // the tokens of what is cached, and its extra words
  std::int64_t host_bytes = 0;      // of the host's blocks, and lists of copies
  std::int64_t sequence_bytes = 0;  // of sequences, their tables, transfers and pins

  std::int64_t sum() const { return block_bytes + token_bytes + host_bytes + sequence_bytes; }
};

}  // namespace recto::cache
