// What is declared of functions is what the tables say that docs/numerics.md names.

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

TEST_CASE("kernels of others may use CUDA's fast functions") {
  const KernelNumerics numerics = third_party_numerics(ElementType::kFp16, ElementType::kFp16);
  CHECK(numerics.exponential == ExponentialError{2 * kUlp, kFastExpSlope, 0x1p-126});
  CHECK(numerics.log_relative == 3 * kUlp);
  CHECK(numerics.tanh_relative == 0x1p-10);
}

TEST_CASE(
    "so may the run in low precision, whose parts are weighed by exp if they are normalised") {
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

}  // namespace
}  // namespace recto::reference
