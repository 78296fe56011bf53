#pragma once

// The memory that kernels may touch: buffers of the caller, each with its exact bounds and a name
// for messages.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"

namespace recto::simt {

enum class BufferUse : std::uint8_t {
  kReadOnly,
  kReadWrite,
  kWriteFirst,  // outputs and workspaces: nothing is read that was not written before
};

// Which parts of a buffer a thread block may touch, finer than its bounds. A kernel that takes a
// wrong block id reads within the pool, but another sequence's.
struct LogicalBounds {
  std::size_t piece_bytes = 0;  // of all but the last piece, which may be shorter
  // By owner, such as a sequence: whether it may touch each piece.
  std::vector<std::vector<bool>> may_touch;  // [num_owners][num_pieces]
  // Whose work each thread block does, by its linear index. Further ones may touch nothing. Empty
  // with a single owner: all of them do that one's.
  std::vector<std::uint32_t> owner_of_block;  // [num_thread_blocks]

  bool allows(std::uint64_t thread_block, std::size_t piece) const {
    if (owner_of_block.empty() && may_touch.size() == 1) return may_touch[0][piece];
    return thread_block < owner_of_block.size() && may_touch[owner_of_block[thread_block]][piece];
  }
};

struct Buffer {
  std::string name;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  BufferUse use = BufferUse::kReadWrite;
  std::optional<LogicalBounds> logical_bounds = {};
  // Thread blocks of one launch hand on to each other what lies here, by fences, flags or locks.
  // These are not followed: no race between thread blocks is told of it, be it one or not.
  bool blocks_communicate = false;
  std::uint64_t serial = 0;  // set by DeviceMemory; no two additions have the same
};

class DeviceMemory {
 public:
  // Invalid input: null, empty, overlapping another buffer, or with logical bounds that do not fit.
  Status add(Buffer buffer);
  // Of the buffer that begins at `data`, for the launches to come. Invalid input: as above.
  Status set_logical_bounds(const void* data, std::optional<LogicalBounds> bounds);
  // The buffer that begins at `data`; false if there is none.
  bool remove(const void* data);
  void clear() { buffers_.clear(); }

  // The buffer that `address` lies in, or null. O(log n).
  const Buffer* find(std::uintptr_t address) const;

  // An address in words: "k_cache+64", "memory 4 bytes past the end of k_cache (1280 bytes)", or
  // the number alone if no buffer is near.
  std::string describe(std::uintptr_t address) const;

  // By address.
  const std::map<std::uintptr_t, Buffer>& buffers() const { return buffers_; }

 private:
  std::map<std::uintptr_t, Buffer> buffers_;
  std::uint64_t next_serial_ = 1;
};

}  // namespace recto::simt
