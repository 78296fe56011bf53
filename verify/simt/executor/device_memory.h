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
  kWriteFirst,  // outputs and workspaces: must be written before they are read
};

// The parts of a buffer that each thread block may touch, finer than the buffer's bounds. A kernel
// that uses a wrong block id stays within the pool, but reads another sequence's block.
struct LogicalBounds {
  std::size_t piece_bytes = 0;  // of each piece; the last may be shorter
  // For each owner, such as a sequence, whether it may touch each piece.
  std::vector<std::vector<bool>> may_touch;  // [num_owners][num_pieces]
  // The owner whose work each thread block does, by linear index. Thread blocks beyond these may
  // touch nothing. May be empty if there is a single owner, whose work all of them do.
  std::vector<std::uint32_t> owner_of_block;  // [num_thread_blocks]

  bool allows(std::uint64_t thread_block, std::size_t piece) const {
    if (owner_of_block.empty() && may_touch.size() == 1) return may_touch[0][piece];
    return thread_block < owner_of_block.size() && may_touch[owner_of_block[thread_block]][piece];
  }
  // The owners that may touch that piece: "owner 1", "owners 1, 2 and 3", "no owner".
  // O(owners).
  std::string owners_text(std::size_t piece) const;
};

struct Buffer {
  std::string name;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  BufferUse use = BufferUse::kReadWrite;
  std::optional<LogicalBounds> logical_bounds = {};
  // Thread blocks of one launch communicate through this buffer in a way that the checks do not
  // follow, such as by volatile flags. No race between thread blocks is reported for it, whether
  // there is one or not.
  bool blocks_communicate = false;
  std::uint64_t serial = 0;  // set by DeviceMemory; no two additions have the same
};

class DeviceMemory {
 public:
  // Invalid input: the buffer is null, empty or overlaps another one, or its logical bounds do not
  // fit.
  Status add(Buffer buffer);
  // Sets the bounds of the buffer that begins at `data`, for later launches. Invalid input: as
  // above.
  Status set_logical_bounds(const void* data, std::optional<LogicalBounds> bounds);
  // Removes the buffer that begins at `data`; false if there is none.
  bool remove(const void* data);
  void clear() { buffers_.clear(); }

  // The buffer that contains `address`, or null. O(log n).
  const Buffer* find(std::uintptr_t address) const;

  // Describes an address: "k_cache+64", "memory 4 bytes past the end of k_cache (1280 bytes)", or
  // the number alone if no buffer is near.
  std::string describe(std::uintptr_t address) const;

  // Keyed by address.
  const std::map<std::uintptr_t, Buffer>& buffers() const { return buffers_; }

 private:
  std::map<std::uintptr_t, Buffer> buffers_;
  std::uint64_t next_serial_ = 1;
};

}  // namespace recto::simt
