#include "verify/ptx/arithmetic/mma.h"

#include "core/contract.h"
#include "verify/ptx/arithmetic/integer_arithmetic.h"

namespace recto::ptx {
namespace {

constexpr int kColumns = 8;

template <typename Number>
struct Factors {
  Number a[kWarpRows * kFactorDepthMax];  // [kWarpRows, depth]
  Number b[kFactorDepthMax * kColumns];   // [depth, kColumns]

  Factors(const MmaShape& shape, const MmaRegisters& registers) {
    read_a(shape.a, shape.depth, registers.a, a);
    read_b(shape.b, shape.depth, registers.b, b);
  }
};

void multiply_integers(const MmaShape& shape, const MmaRegisters& registers) {
  const Factors<std::int32_t> factors(shape, registers);
  for (int lane = 0; lane < kFragmentLanes; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const MatrixPlace place = sum_place(lane, i);
      std::int64_t sum = static_cast<std::int32_t>(registers.c[i][lane]);
      for (int k = 0; k < shape.depth; ++k) {
        sum += factors.a[place.row * shape.depth + k] * factors.b[k * kColumns + place.column];
      }
      registers.d[i][lane] = static_cast<std::uint32_t>(shape.satfinite ? clamped_s32(sum) : sum);
    }
  }
}

}  // namespace

bool is_supported(const MmaShape& shape) {
  const bool is_whole = shape.sum == SumType::kS32;
  if (is_integer(shape.a) || is_integer(shape.b)) {
    return is_integer(shape.a) && is_integer(shape.b) && is_whole &&
           (shape.depth == 16 || shape.depth == 32);
  }
  if (is_fp8(shape.a) || is_fp8(shape.b)) {
    return is_fp8(shape.a) && is_fp8(shape.b) && !is_whole &&
           (shape.depth == 16 || shape.depth == 32);
  }
  if (shape.a != shape.b || is_whole) return false;
  if (shape.a == FactorType::kF16) return shape.depth == 8 || shape.depth == 16;
  if (shape.sum != SumType::kF32) return false;
  return shape.depth == 8 || shape.depth == (shape.a == FactorType::kTf32 ? 4 : 16);
}

void mma(const MmaShape& shape, const MmaRegisters& registers, const SumModel& model) {
  RECTO_CHECK(is_supported(shape));
  if (shape.sum == SumType::kS32) return multiply_integers(shape, registers);
  const Factors<float> factors(shape, registers);
  float sums[kWarpRows * kColumns];
  read_sums(shape.sum, kColumns, registers.c, sums);
  multiply_accumulate({.rows = kWarpRows,
                       .columns = kColumns,
                       .depth = shape.depth,
                       .a = factors.a,
                       .b = factors.b,
                       .sums = sums},
                      model);
  write_sums(shape.sum, kColumns, sums, registers.d);
}

}  // namespace recto::ptx
