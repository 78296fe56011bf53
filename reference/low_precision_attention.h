#pragma once

// Attention at the precision of kernels, in plain code: inputs as stored, sums in fp32, P rounded
// to q's type for the product with V, and the result rounded to q's type. It is the baseline of
// FlashAttention's rule (a kernel's error may be twice as large), and the subject of tests of the
// bounds.

#include "core/attention_views.h"
#include "reference/fp32_arithmetic.h"
#include "reference/numerics.h"
#include "reference/paged_attention.h"

namespace recto::reference {

// What an fp8 code times its scale is rounded to: fp32, or fp32 and then q's type.
enum class Dequantised { kFp32, kQueryType };

// How the run computes, apart from the types. Each setting has a counterpart in KernelNumerics.
struct LowPrecisionOptions {
  std::int64_t tile_size = 64;
  std::int64_t split_size = 0;  // keys; 0: no splits
  std::int64_t terms_per_step = 1;
  AccumulatorRounding rounding = AccumulatorRounding::kNearest;
  SummedWeights summed_weights = SummedWeights::kUnrounded;
  ExponentialBase base = ExponentialBase::kE;
  SplitMerge split_merge = SplitMerge::kState;
  std::int64_t lanes = 1;  // of each sum
  Subnormals subnormals = Subnormals::kKept;
  MathFunctions functions = MathFunctions::kLibrary;
  Dequantised dequantised = Dequantised::kFp32;
};

AttentionResult low_precision_attention(const PagedAttentionInputs& inputs,
                                        const LowPrecisionOptions& options);

// The numerics of that run, as input of the error bounds.
KernelNumerics low_precision_numerics(const PagedAttentionInputs& inputs,
                                      const LowPrecisionOptions& options);

}  // namespace recto::reference
