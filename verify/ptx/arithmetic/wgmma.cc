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

// [depth, columns]
void collect_b(const WgmmaShape& shape, const CollectedFactor& from, float* b) {
  const int depth = shape.depth();
  if (from.major == Major::kMn) {
    widen_factors(shape.b, from.bytes, depth * shape.columns, b);
  } else {
    float line[kFactorDepthMax];
    for (int column = 0; column < shape.columns; ++column) {
      widen_factors(shape.b, from.bytes + column * kWgmmaLineBytes, depth, line);
      for (int k = 0; k < depth; ++k) b[k * shape.columns + column] = line[k];
    }
  }
  if (shape.sign_b == FactorSign::kMinus) negate(b, depth * shape.columns);
}

}  // namespace

bool is_supported(const WgmmaShape& shape) {
  if (shape.columns < 8 || shape.columns > kWgmmaColumnsMax || shape.columns % 8 != 0) return false;
  if (is_integer(shape.a) || is_integer(shape.b) || shape.sum == SumType::kS32) return false;
  if (is_fp8(shape.a)) return is_fp8(shape.b);
  if (shape.a != shape.b) return false;
  return shape.sum == SumType::kF32 || shape.a == FactorType::kF16;
}

void wgmma(const WgmmaShape& shape, const WgmmaOperands& operands, int warp,
           const SumModel& model) {
  RECTO_CHECK(is_supported(shape));
  RECTO_CHECK(warp >= 0 && warp < kWarpgroupWarps);
  RECTO_CHECK(element_bits(shape.a) == 16 ||
              (operands.a.major == Major::kK && operands.b.major == Major::kK));
  float a[kWarpRows * kFactorDepthMax];
  float b[kFactorDepthMax * kWgmmaColumnsMax];
  float sums[kWarpRows * kWgmmaColumnsMax];
  collect_a(shape, operands, warp, a);
  collect_b(shape, operands.b, b);
  if (shape.adds) {
    read_sums(shape.sum, shape.columns, operands.d, sums);
  } else {
    std::fill_n(sums, kWarpRows * shape.columns, 0.0F);
  }
  multiply_accumulate({.rows = kWarpRows,
                       .columns = shape.columns,
                       .depth = shape.depth(),
                       .a = a,
                       .b = b,
                       .sums = sums},
                      model);
  write_sums(shape.sum, shape.columns, sums, operands.d);
}

}  // namespace recto::ptx
