// Tests that the declared function errors equal those of the tables cited in docs/numerics.md.

#include "reference/numerics.h"

#include <cmath>

#include "bazel/testing/catch.h"
#include "reference/low_precision_attention.h"

namespace recto::reference {
namespace {

constexpr double kUlp = 0x1p-23;  // of fp32, relative, at most
constexpr double kFastExpSlope = 1.173 * kUlp;

TEST_CASE("glibc's functions of fp64 are off by one unit in the last place, tanh by two") {
  const KernelNumerics numerics = fp64_numerics(16);
  CHECK(numerics.exponential == ExponentialError{0x1p-52, 0, 0x1p-1074});
  CHECK(numerics.log_relative == 0x1p-52);
  CHECK(numerics.tanh_relative == 0x1p-51);
}

// Larger values would accept more results, and no other test would notice.
TEST_CASE("the third-party profile has exactly these figures") {
  const Accumulation cut{.terms_per_step = 4, .rounding = AccumulatorRounding::kTruncate};
  const KernelNumerics fp16{.underflow = 0x1p-126,
                            .input_flush = 0x1p-126,
                            .score_sum = cut,
                            .score_roundings = 2,
                            .shared_scale = kUlp,
                            .tanh_relative = 0x1p-10,
                            .bias_roundings = 2,
                            .argument_roundings = 2,
                            .exponential = {2 * kUlp, kFastExpSlope, 0x1p-126},
                            .weight_type = ElementType::kFp16,
                            .output_sum = cut,
                            .tile_size = 16,
                            .tile_order = TileOrder::kUnknown,
                            .state_merges = 5,
                            .split_merge = SplitMerge::kNormalised,
                            .log_relative = 3 * kUlp,
                            .log_absolute = 0x1p-21,
                            .output_type = ElementType::kFp16};
  CHECK(third_party_numerics(ElementType::kFp16, ElementType::kFp16) == fp16);

  KernelNumerics fp32 = fp16;  // no tensor cores
  fp32.score_sum = fp32.output_sum = {};
  fp32.weight_type.reset();
  fp32.output_type = ElementType::kFp32;
  CHECK(third_party_numerics(ElementType::kFp32, ElementType::kFp32) == fp32);

  // Codes times scale are rounded to fp32 (2^-24), then to fp16 (2^-11 of the rounded value).
  KernelNumerics of_codes = fp16;
  of_codes.kv_read = 0x1p-24 + 0x1p-11 + 0x1p-35;
  of_codes.kv_read_underflow = 0x1p-25;  // half of the smallest subnormal number
  CHECK(third_party_numerics(ElementType::kFp16, ElementType::kE4m3) == of_codes);
}

TEST_CASE("low-precision runs with fast functions declare the errors of these functions") {
  PagedAttentionInputs inputs;
  inputs.q.type = inputs.kv.k.type = inputs.kv.v.type = ElementType::kFp16;
  const auto fast = [&](ExponentialBase base, SplitMerge merge) {
    return low_precision_numerics(
        inputs, {.base = base, .split_merge = merge, .functions = MathFunctions::kFast});
  };
  const auto slope = [&](ExponentialBase base, SplitMerge merge) {
    return fast(base, merge).exponential.relative_slope;
  };
  CHECK(slope(ExponentialBase::kE, SplitMerge::kState) == kFastExpSlope);
  CHECK(slope(ExponentialBase::kTwo, SplitMerge::kNormalised) == kFastExpSlope);
  CHECK(slope(ExponentialBase::kTwo, SplitMerge::kState) == 0);
  const KernelNumerics numerics = fast(ExponentialBase::kE, SplitMerge::kState);
  CHECK(numerics.exponential.relative == 2 * kUlp);
  CHECK(numerics.log_relative == 3 * kUlp);
  CHECK(numerics.log_absolute == Approx(std::exp2(-21.41)));
  CHECK(numerics.tanh_relative == 0x1p-11);
}

TEST_CASE("declared numerics replace only the parts of a profile that they name") {
  const KernelNumerics profile = third_party_numerics(ElementType::kFp16, ElementType::kFp16);
  CHECK(with_declared({}, profile) == profile);
  const KernelNumerics declared = with_declared({.weights = ElementType::kFp32,
                                                 .products = ElementType::kBf16,
                                                 .partials = ElementType::kFp16,
                                                 .accumulate = ElementType::kFp32,
                                                 .exponential = DeclaredExponential::kExact,
                                                 .summed = SummedWeights::kRounded},
                                                profile);
  CHECK(!declared.weight_type);
  CHECK(declared.product_type == ElementType::kBf16);
  CHECK(declared.partial_type == ElementType::kFp16);
  CHECK(declared.score_sum == Accumulation{});
  CHECK(declared.output_sum == Accumulation{});
  CHECK(declared.exponential.relative_slope == 0);
  CHECK(declared.summed_weights == SummedWeights::kRounded);
  CHECK(declared.output_type == profile.output_type);
  CHECK(declared.tile_size == profile.tile_size);
}

TEST_CASE("low-precision runs declare the subnormals that they flush, and no others") {
  PagedAttentionInputs inputs;
  inputs.q.type = inputs.kv.k.type = inputs.kv.v.type = ElementType::kFp16;
  const KernelNumerics kept = low_precision_numerics(inputs, {});
  CHECK(kept.underflow == 0x1p-149);
  CHECK(kept.input_flush == 0);
  CHECK(kept.exponential.flush == 0x1p-149);
  const KernelNumerics flushed =
      low_precision_numerics(inputs, {.subnormals = Subnormals::kFlushed});
  CHECK(flushed.underflow == 0x1p-126);
  CHECK(flushed.input_flush == 0x1p-126);
  CHECK(flushed.exponential.flush == 0x1p-126);
}

}  // namespace
}  // namespace recto::reference
