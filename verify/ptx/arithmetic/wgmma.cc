#include "verify/ptx/arithmetic/wgmma.h"

#include <algorithm>

#include "core/contract.h"

namespace recto::ptx {
namespace {

constexpr int kRows = kWarpgroupWarps * kWarpRows;

void negate(float* numbers, int count) {
  for (int i = 0; i < count; ++i) numbers[i] = -numbers[i];
}

// [kWarpRows, depth]
void collect_a(const WgmmaShape& shape, const WgmmaOperands& operands, int warp, float* a) {
  const int depth = shape.depth();
  if (operands.a_registers != nullptr) {
    read_a(shape.a, depth, operands.a_registers, a);
  } else if (operands.a.major == Major::kK) {
    const std::byte* first = operands.a.bytes + warp * kWarpRows * kWgmmaLineBytes;
    widen_factors(shape.a, first, kWarpRows * depth, a);
  } else {
    float columns[kRows];
    for (int k = 0; k < depth; ++k) {
      widen_factors(shape.a, operands.a.bytes + 2 * kRows * k, kRows, columns);
      for (int row = 0; row < kWarpRows; ++row)
        a[row * depth + k] = columns[warp * kWarpRows + row];
    }
  }
  if (shape.sign_a == FactorSign::kMinus) negate(a, kWarpRows * depth);
}

bool may_be(Major major, FactorType type) { return major == Major::kK || element_bits(type) == 16; }

}  // namespace

bool is_supported(const WgmmaShape& shape) {
  if (shape.columns < 8 || shape.columns > kWgmmaColumnsMax || shape.columns % 8 != 0) return false;
  if (is_integer(shape.a) || is_integer(shape.b) || shape.sum == SumType::kS32) return false;
  if (is_fp8(shape.a)) return is_fp8(shape.b);
  if (shape.a != shape.b) return false;
  return shape.sum == SumType::kF32 || shape.a == FactorType::kF16;
}

void widen_b(const WgmmaShape& shape, const CollectedFactor& factor, WgmmaNumbers& b) {
  RECTO_CHECK(is_supported(shape));
  RECTO_CHECK(may_be(factor.major, shape.b));
  const int depth = shape.depth();
  const int count = depth * shape.columns;
  if (factor.major == Major::kMn) {
    widen_factors(shape.b, factor.bytes, count, b);
  } else {
    WgmmaNumbers lines;  // [columns, depth]
    widen_factors(shape.b, factor.bytes, count, lines);
    for (int k = 0; k < depth; ++k) {
      float* to = b + k * shape.columns;
      for (int column = 0; column < shape.columns; ++column) to[column] = lines[column * depth + k];
    }
  }
  if (shape.sign_b == FactorSign::kMinus) negate(b, count);
}

void wgmma(const WgmmaShape& shape, const WgmmaOperands& operands, int warp,
           const SumModel& model) {
  RECTO_CHECK(is_supported(shape));
  RECTO_CHECK(warp >= 0 && warp < kWarpgroupWarps);
  RECTO_CHECK(may_be(operands.a.major, shape.a));
  float a[kWarpRows * kFactorDepthMax];
  float sums[kWarpRows * kWgmmaColumnsMax];
  collect_a(shape, operands, warp, a);
  if (shape.adds) {
    read_sums(shape.sum, shape.columns, operands.d, sums);
  } else {
    std::fill_n(sums, kWarpRows * shape.columns, 0.0F);
  }
  multiply_accumulate({.rows = kWarpRows,
                       .columns = shape.columns,
                       .depth = shape.depth(),
                       .a = a,
                       .b = operands.b,
                       .sums = sums},
                      model);
  write_sums(shape.sum, shape.columns, sums, operands.d);
}

}  // namespace recto::ptx
