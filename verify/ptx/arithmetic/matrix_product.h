#pragma once

// The arithmetic of tensor cores, without lanes: sums += a b. The ISA leaves order and rounding of
// the sums open; there are two models.

#include <cstdint>

namespace recto::ptx {

enum class MatrixSum : std::uint8_t {
  // A chain of fp32 fused multiply-adds in the order of k, each rounded to nearest.
  kNearest,
  // As tensor cores do: the products of a step and the accumulator are aligned to the largest
  // exponent, truncated, and added; the sum is truncated to fp32.
  kTruncated,
};

struct SumModel {
  MatrixSum sum = MatrixSum::kNearest;
  // For truncated sums: how many products are added at once (4 on V100, 8 on A100, 16 on H100), and
  // how many bits below the leading one of the largest are kept (25 on H100; 13 for fp8) (Fasi et
  // al. 2021, PeerJ Computer Science 7:e330; Khattak & Mikaitis 2025, arXiv 2512.07004).
  int products_per_step = 16;
  int fraction_bits = 25;
};

inline constexpr int kRowBlock = 8;
inline constexpr int kColumnBlock = 8;

// Factors have at most 12 significant bits: f16, bf16, tf32, e4m3 and e5m2 have 11 or fewer.
struct MatrixProduct {
  int rows = 0;              // a multiple of kRowBlock
  int columns = 0;           // a multiple of kColumnBlock
  int depth = 0;             // at most kDepthMax
  const float* a = nullptr;  // [rows, depth]
  const float* b = nullptr;  // [depth, columns]
  float* sums = nullptr;     // [rows, columns]
};

// O(rows x columns x depth). NaNs are fp32's canonical one. In a truncated sum, the exponent of a
// product is the sum of the exponents of its factors, whose significands are in [1, 2), because the
// hardware aligns before it normalises; zeros have no exponent.
void multiply_accumulate(const MatrixProduct& product, const SumModel& model);

}  // namespace recto::ptx
