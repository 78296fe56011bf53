#include "verify/simt/checks/shadow_cells.h"

#include <utility>

namespace recto::simt {

ShadowCells::Records ShadowCells::map_records(std::size_t count) {
  const std::size_t bytes = count * sizeof(AccessRecord);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  // Pages of zeros represent records without accesses.
  return memory == MAP_FAILED ? nullptr : Records(static_cast<AccessRecord*>(memory), Unmap{bytes});
}

bool ShadowCells::map(std::size_t bytes) {
  count_ = (bytes + kCellBytes - 1) / kCellBytes;
  cells_ = map_records(count_);
  parts_ = map_records(count_ * (kCellBytes - 1));
  if (cells_ != nullptr && parts_ != nullptr) return true;
  cells_.reset();
  parts_.reset();
  return false;
}

void ShadowCells::clear() {
  if (!is_mapped()) return;
  madvise(cells_.get(), count_ * sizeof(AccessRecord), MADV_DONTNEED);
  madvise(parts_.get(), count_ * (kCellBytes - 1) * sizeof(AccessRecord), MADV_DONTNEED);
}

void ShadowCells::divide(std::size_t cell, unsigned from, unsigned to) {
  AccessRecord& whole = cells_[cell];
  const bool is_halves = from % 2 == 0 && to % 2 == 0;
  if (whole.division == Division::kWhole) {
    part(cell, 2) = whole;
    whole.division = Division::kHalves;
  }
  if (whole.division == Division::kHalves && !is_halves) {
    part(cell, 1) = whole;
    part(cell, 3) = part(cell, 2);
    whole.division = Division::kBytes;
  }
}

}  // namespace recto::simt
