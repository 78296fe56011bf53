#pragma once

// A record for each word of some memory, and for each half or byte of a word once it is touched
// alone. Takes 32 bytes of address space for each byte of that memory, but real memory only where
// it is used, so that buffers may be of any size.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "verify/simt/checks/access_record.h"

namespace recto::simt {

class ShadowCells {
 public:
  static constexpr std::size_t kCellBytes = 4;

  // Maps the records for `bytes` bytes of memory. False if the system has no address space left.
  bool map(std::size_t bytes);
  bool is_mapped() const { return cells_ != nullptr; }
  // Resets all records to their initial state.
  void clear();

  // Calls visit(record, offset, bytes) for the records of these bytes, in order. O(bytes).
  template <typename Visit>
  void for_each(std::size_t offset, std::size_t bytes, Visit visit) {
    const std::size_t end = offset + bytes;
    while (offset < end) {
      const std::size_t cell = offset / kCellBytes;
      const auto from = static_cast<unsigned>(offset % kCellBytes);
      const std::size_t left = end - cell * kCellBytes;
      const auto to = static_cast<unsigned>(left < kCellBytes ? left : kCellBytes);
      if (from == 0 && to == kCellBytes && cells_[cell].division == Division::kWhole) [[likely]] {
        visit(cells_[cell], offset, kCellBytes);
      } else {
        for_each_part(cell, from, to, visit);
      }
      offset = (cell + 1) * kCellBytes;
    }
  }

 private:
  struct Unmap {
    std::size_t bytes;  // 0 if nothing is mapped
    void operator()(AccessRecord* records) const { munmap(records, bytes); }
  };
  using Records = std::unique_ptr<AccessRecord[], Unmap>;

  static Records map_records(std::size_t count);

  template <typename Visit>
  void for_each_part(std::size_t cell, unsigned from, unsigned to, Visit visit) {
    divide(cell, from, to);
    const unsigned step = cells_[cell].division == Division::kHalves ? 2 : 1;
    for (unsigned byte = from; byte < to; byte += step) {
      visit(part(cell, byte), cell * kCellBytes + byte, step);
    }
  }

  // The record of the first byte is the cell's own.
  AccessRecord& part(std::size_t cell, unsigned byte) {
    return byte == 0 ? cells_[cell] : parts_[cell * (kCellBytes - 1) + byte - 1];
  }

  // Gives these bytes records of their own.
  void divide(std::size_t cell, unsigned from, unsigned to);

  std::size_t count_ = 0;
  Records cells_;
  Records parts_;  // of bytes 1 to 3 of each cell
};

}  // namespace recto::simt
