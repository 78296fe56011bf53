#include "reference/error_bound.h"

#include <cmath>
#include <limits>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/rounding.h"

namespace recto::reference {
namespace {

double small_normal(RandomStream& stream) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += stream.next_unit();
  return round_to(sum, ElementType::kBf16);
}

struct Tensors {
  Matrix q;
  Matrix k;
  Matrix v;

  Tensors(std::int64_t n, std::uint64_t seed) {
    RandomStream stream(seed);
    const auto draw = [&stream] { return small_normal(stream); };
    q = Matrix::NullaryExpr(1, 16, draw);
    k = Matrix::NullaryExpr(n, 16, draw);
    v = Matrix::NullaryExpr(n, 8, draw);
  }
  HeadOutput attend(const HeadOptions& options) const {
    return dense_attention({q, k, v}, options);
  }
  HeadBound bound(const HeadOptions& options, const KernelNumerics& numerics) const {
    return HeadErrorModel(k, v, numerics).bound(q, options, attend(options));
  }
};

const KernelNumerics kBf16Kernel = third_party_numerics(ElementType::kBf16, ElementType::kBf16);
const KernelNumerics kFp32Kernel = third_party_numerics(ElementType::kFp32, ElementType::kFp32);
const HeadOptions kScaled{.scale = 0.25};

TEST_CASE("the probabilistic bound never exceeds the worst-case bound, and both are positive") {
  for (const std::int64_t n : {1, 2, 16, 300}) {
    for (const KernelNumerics& numerics : {kBf16Kernel, kFp32Kernel, fp64_numerics(16)}) {
      const HeadBound bound = Tensors(n, 5).bound(kScaled, numerics);
      CHECK((bound.probabilistic.array() > 0).all());
      CHECK((bound.probabilistic.array() <= bound.worst_case.array()).all());
      CHECK(bound.lse_ln_probabilistic[0] <= bound.lse_ln_worst_case[0]);
      CHECK(bound.lse_ln_probabilistic[0] > 0);
    }
  }
}

TEST_CASE("the rounding of a subnormal output that is a tie reaches nearly the whole bound") {
  constexpr double kSpacing = 0x1p-24;  // spacing of fp16's subnormals
  const KernelNumerics numerics = third_party_numerics(ElementType::kFp16, ElementType::kFp16);
  Tensors tensors(2, 7);
  tensors.k.row(1) = tensors.k.row(0);
  tensors.v.row(0).setConstant(3 * kSpacing);
  tensors.v.row(1).setZero();
  const double exact = tensors.attend(kScaled).out(0, 0);
  CHECK(exact == 1.5 * kSpacing);
  const double error = std::abs(round_to(exact, ElementType::kFp16) - exact);
  const HeadBound bound = tensors.bound(kScaled, numerics);
  for (const Matrix& limit : {bound.worst_case, bound.probabilistic}) {
    CHECK(error <= limit(0, 0));
    CHECK(error > 0.98 * limit(0, 0));
    CHECK(error + kSpacing > limit(0, 0));
  }
}

TEST_CASE(
    "the probabilistic bound grows far more slowly with the context than the worst-case bound") {
  const HeadBound few = Tensors(64, 6).bound(kScaled, kFp32Kernel);
  const HeadBound many = Tensors(8192, 6).bound(kScaled, kFp32Kernel);
  CHECK(many.worst_case.mean() > 20 * few.worst_case.mean());
  CHECK(many.probabilistic.mean() < 8 * few.probabilistic.mean());
}

TEST_CASE("the probabilistic bound covers equal terms, whose errors add up") {
  // The textbook example: 0.1 is added 4096 times, and each addition rounds the same way.
  constexpr std::int64_t kKeys = 4096;
  const Matrix zero = Matrix::Zero(1, 1);
  const Matrix k = Matrix::Zero(kKeys, 1);
  const double tenth = round_to(0.1, ElementType::kFp32);
  const Matrix v = Matrix::Constant(kKeys, 1, tenth);
  float sum = 0.0F;
  for (int key = 0; key < kKeys; ++key) sum += 0.1F;
  const double error = std::abs(sum / kKeys - tenth);
  const HeadOutput exact = dense_attention({zero, k, v}, {});
  const HeadBound bound =
      HeadErrorModel(k, v, {.tile_size = kKeys, .output_type = ElementType::kFp32})
          .bound(zero, {}, exact);
  CHECK(error <= bound.probabilistic(0, 0));
  CHECK(error >
        kProbabilisticLambda * std::sqrt(2.0 * kKeys) * 0x1p-24 * tenth);  // taken as independent
}

TEST_CASE("the probabilistic bound covers terms that are too small to change a sum") {
  // One key of weight 1, then 4095 keys of weight 2^-25: in fp32 the sum of weights stays at 1.
  constexpr std::int64_t kKeys = 4096;
  const Matrix one = Matrix::Ones(1, 1);
  Matrix k = Matrix::Constant(kKeys, 1, std::log(0x1p-25));
  k(0, 0) = 0;
  const Matrix v = Matrix::NullaryExpr(kKeys, 1, [](Eigen::Index key, Eigen::Index) {
    return key == 0 ? 1.0 : 1000.0 + static_cast<double>(key);
  });
  float sum = 1.0F;
  float weighted = 1.0F;
  for (int key = 1; key < kKeys; ++key) {
    sum += 0x1p-25F;
    weighted += 0x1p-25F * static_cast<float>(v(key, 0));
  }
  const HeadOutput exact = dense_attention({one, k, v}, {});
  const double error = std::abs(weighted / sum - exact.out(0, 0));
  const HeadBound bound =
      HeadErrorModel(k, v, {.tile_size = kKeys, .output_type = ElementType::kFp32})
          .bound(one, {}, exact);
  CHECK(sum == 1.0F);
  CHECK(error <= bound.probabilistic(0, 0));
  CHECK(error > kProbabilisticLambda * std::sqrt(2.0 * kKeys) * 0x1p-24 * exact.out(0, 0));
}

TEST_CASE(
    "errors of weights cancel for equal values, and the hull of the values limits the bound") {
  KernelNumerics numerics = kFp32Kernel;
  numerics.split_merge = SplitMerge::kState;  // otherwise weights are not divided by their own sum
  // With equal values the weights do not matter: only sums and roundings can err.
  Tensors same(100, 7);
  same.v = Matrix::Ones(100, 8);
  const HeadOptions steep{.scale = 2000};
  const double roundings_only = same.bound(steep, numerics).worst_case.maxCoeff();
  CHECK(roundings_only < 100 * 30 * 0x1p-24);
  // Scores of tens of thousands may be off by more than one: weights may be anything, but the
  // output stays in the hull of the values.
  const Tensors drawn(100, 7);
  const HeadBound bound = drawn.bound({.scale = 1e6}, numerics);
  const Matrix out = drawn.attend({.scale = 1e6}).out;
  for (std::int64_t dim = 0; dim < 8; ++dim) {
    const double hull = (drawn.v.col(dim).array() - out(0, dim)).abs().maxCoeff();
    CHECK(bound.worst_case(0, dim) <= 1.01 * hull + 1e-3);
  }
}

TEST_CASE("a row without keys is exact, its lse minus infinity or the sink") {
  const Matrix q = Matrix::Ones(1, 2);
  const Matrix nothing(0, 2);
  const HeadOptions with_sink{.sink = 8.0};
  const auto lse_ln_bound = [&](const HeadOptions& options, const KernelNumerics& numerics) {
    const HeadBound bound = HeadErrorModel(nothing, nothing, numerics)
                                .bound(q, options, dense_attention({q, nothing, nothing}, options));
    CHECK(bound.worst_case == Matrix::Zero(1, 2));
    CHECK(bound.lse_ln_probabilistic == bound.lse_ln_worst_case);
    return bound.lse_ln_worst_case[0];
  };
  CHECK(lse_ln_bound({}, kBf16Kernel) == 0);
  CHECK(lse_ln_bound({.sink = -std::numeric_limits<double>::infinity()}, kBf16Kernel) == 0);
  CHECK(lse_ln_bound(with_sink, {}) == 3 * 8 * 0x1p-24);
  // Merging parts uses a logarithm that need not return 0 for 1, and the scale is a rounded
  // constant.
  CHECK(lse_ln_bound(with_sink, kBf16Kernel) ==
        Approx(3 * 8 * 0x1p-24 + 8 * 0x1p-23 + 2 * 0x1p-21).epsilon(1e-6));
}

TEST_CASE("a subnormal fp64 output has finite, positive bounds") {
  const Matrix q = Matrix::Ones(1, 1);
  Matrix k(3, 1);
  k << 0, -730, -731;
  Matrix v(3, 1);
  v << 0, 1e-4, 0;
  // This kernel's scores may be off by so much that weights may be anything.
  const KernelNumerics coarse{.query_read = 1.5, .output_type = ElementType::kFp32};
  for (const KernelNumerics& numerics : {kBf16Kernel, kFp32Kernel, fp64_numerics(16), coarse}) {
    const HeadOutput exact = dense_attention({q, k, v}, {});
    CHECK(exact.out(0, 0) != 0);
    const HeadBound bound = HeadErrorModel(k, v, numerics).bound(q, {}, exact);
    CHECK(std::isfinite(bound.worst_case(0, 0)));
    CHECK(bound.probabilistic(0, 0) <= bound.worst_case(0, 0));
    CHECK(bound.probabilistic(0, 0) > 0);
  }
}

TEST_CASE("splits make sums shorter, and merging normalised parts costs more than merging states") {
  const Tensors tensors(4096, 9);
  const KernelNumerics whole{.tile_size = 64, .output_type = ElementType::kFp32};
  KernelNumerics split = whole;
  split.split_size = 256;
  KernelNumerics normalised = split;
  normalised.split_merge = SplitMerge::kNormalised;
  const double worst_case_split = tensors.bound(kScaled, split).worst_case.sum();
  CHECK(worst_case_split < tensors.bound(kScaled, whole).worst_case.sum());
  CHECK(worst_case_split < tensors.bound(kScaled, normalised).worst_case.sum());
}

TEST_CASE("a model uses a changed key once reread_key was called") {
  Tensors tensors(4, 9);
  tensors.q = Matrix::Ones(1, 16);
  const HeadErrorModel model(tensors.k, tensors.v, kFp32Kernel);
  tensors.k.row(3).setConstant(0.1);  // equal terms round alike
  const HeadOutput exact = tensors.attend(kScaled);
  const Matrix expected = tensors.bound(kScaled, kFp32Kernel).probabilistic;
  HeadErrorModel told = model;
  told.reread_key(3);
  CHECK(told.bound(tensors.q, kScaled, exact).probabilistic == expected);
  CHECK(model.bound(tensors.q, kScaled, exact).probabilistic != expected);
}

}  // namespace
}  // namespace recto::reference
