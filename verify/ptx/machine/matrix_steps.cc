// ldmatrix, stmatrix and mma.sync.

#include <bit>
#include <cstring>

#include "verify/ptx/arithmetic/matrix_fragment.h"
#include "verify/ptx/arithmetic/mma.h"
#include "verify/ptx/machine/thread_block.h"

namespace recto::ptx {
namespace {

constexpr unsigned kRows = 8;
constexpr std::size_t kMmaRegistersMax = 12;  // of A, B and C

}  // namespace

// Lanes 0 to 7 have the addresses of the rows of the first matrix, and so on.
bool ThreadBlock::load_matrix(Warp& warp, const Step& step, LaneMask lanes) {
  const Detail& detail = program_.details[step.detail];
  LaneAddresses pointers;
  const LaneMask rows = detail.count == 4 ? kAllLanes : (LaneMask{1} << kRows * detail.count) - 1;
  if (!access(warp, detail.memory, {&step, rows & lanes, 16, AccessKind::kRead, "reads"},
              pointers)) {
    return false;
  }
  const auto order = detail.is_transposed ? MatrixOrder::kTransposed : MatrixOrder::kPlain;
  for (unsigned i = 0; i < detail.count; ++i) {
    Matrix8x8 matrix;
    for (unsigned r = 0; r < kRows; ++r) {
      std::memcpy(matrix[r], reinterpret_cast<const void*>(pointers[kRows * i + r]), 16);
    }
    load_fragment(matrix, order, *reinterpret_cast<RegisterRow*>(warp.registers + detail.defs[i]));
  }
  return true;
}

bool ThreadBlock::store_matrix(Warp& warp, const Step& step, LaneMask lanes) {
  const Detail& detail = program_.details[step.detail];
  LaneAddresses pointers;
  const LaneMask rows = detail.count == 4 ? kAllLanes : (LaneMask{1} << kRows * detail.count) - 1;
  if (!access(warp, detail.memory, {&step, rows & lanes, 16, AccessKind::kWrite, "writes"},
              pointers)) {
    return false;
  }
  const auto order = detail.is_transposed ? MatrixOrder::kTransposed : MatrixOrder::kPlain;
  for (unsigned i = 0; i < detail.count; ++i) {
    Matrix8x8 matrix;
    store_fragment(*reinterpret_cast<const RegisterRow*>(warp.registers + detail.uses[i]), order,
                   matrix);
    for (unsigned r = 0; r < kRows; ++r) {
      std::memcpy(reinterpret_cast<void*>(pointers[kRows * i + r]), matrix[r], 16);
    }
  }
  return true;
}

void ThreadBlock::multiply(Warp& warp, const Step& step) {
  const Detail& detail = program_.details[step.detail];
  const MmaShape& shape = detail.product;
  RegisterRow factors[kMmaRegistersMax];
  RegisterRow sums[4];
  for (std::size_t i = 0; i < detail.uses.size(); ++i) {
    std::memcpy(factors[i], warp.registers + detail.uses[i], sizeof(RegisterRow));
  }
  const RegisterRow* const b = factors + shape.a_registers();
  mma(shape, {factors, b, b + shape.b_registers(), sums}, run_.options.matrix_sums);
  for (std::size_t i = 0; i < detail.defs.size(); ++i) {
    std::memcpy(warp.registers + detail.defs[i], sums[i], sizeof(RegisterRow));
  }
}

}  // namespace recto::ptx
