#pragma once

// The registered buffers as the checks see them: each with its records, and found quickly by
// address.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "verify/simt/checks/shadow_cells.h"
#include "verify/simt/executor/device_memory.h"

namespace recto::simt {

struct GlobalBuffer {
  const Buffer* buffer = nullptr;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  BufferUse use = BufferUse::kReadWrite;
  ShadowCells cells;          // mapped when first needed; read-only buffers need none
  bool is_forgotten = false;  // true: no record says which bytes were written

  // Maps the cells if necessary. False if there is no address space for them.
  bool has_cells() { return cells.is_mapped() || cells.map(end - begin); }
};

class GlobalBuffers {
 public:
  // Part of a buffer all of whose bytes the running thread block may touch.
  struct Range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    GlobalBuffer* buffer = nullptr;

    bool contains(std::uintptr_t address, std::size_t bytes) const {
      return address >= begin && address < end && bytes <= end - address;
    }
  };

  explicit GlobalBuffers(const DeviceMemory& memory) : memory_(memory) {}

  // Adopts the buffers that were added and removed since the last call. O(n).
  void refresh();
  // From now on, ranges are those of the thread block with this linear index.
  void set_thread_block(std::uint64_t index);
  // Drops all records: from now on, any byte may have been written.
  void forget_accesses();
  // Sets the records of these bytes, which are in one buffer, as if this write were the only access
  // so far. O(bytes).
  void mark(const void* data, std::size_t bytes, Stamp write);

  // The range that contains all of these bytes, or null. O(1) for memory touched recently, else
  // O(log n).
  const Range* find(std::uintptr_t address, std::size_t bytes) {
    if (last_.contains(address, bytes)) return &last_;
    const Range& recent = recent_[slot_of(address)];
    if (recent.contains(address, bytes)) {
      last_ = recent;
      return &last_;
    }
    return find_anew(address, bytes);
  }

  // The buffer that `address` lies in, or null. O(log n).
  GlobalBuffer* buffer_at(std::uintptr_t address);

 private:
  // Rows of K and V have this size, or a multiple.
  static constexpr unsigned kSlotShift = 8;
  static constexpr std::size_t kSlots = 128;

  static std::size_t slot_of(std::uintptr_t address) { return (address >> kSlotShift) % kSlots; }
  const Range* find_anew(std::uintptr_t address, std::size_t bytes);

  const DeviceMemory& memory_;
  std::map<std::uint64_t, std::unique_ptr<GlobalBuffer>> by_serial_;
  std::vector<GlobalBuffer*> by_address_;
  bool has_logical_bounds_ = false;
  std::uint64_t thread_block_ = 0;
  Range last_;
  std::array<Range, kSlots> recent_ = {};
};

}  // namespace recto::simt
