// Sums whose terms all err in one direction: the loss is charged, and no smaller charge would
// suffice. Scores are 0, so each term of a sum is a value.

#include "reference/one_sided_error.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/error_bound.h"
#include "reference/truncated_sum.h"

namespace recto::reference {
namespace {

constexpr std::int64_t kKeys = 8192;
constexpr double kUlp = 0x1p-23;  // ulp of fp32 in [1, 2)

// `middle` ulps of [1, 2), plus or minus up to a hundredth, so that no two values are equal.
double about(double middle, RandomStream& stream) {
  return (middle + 0.02 * stream.next_unit() - 0.01) * kUlp;
}

// The error of an fp32 sum, and the probabilistic bound for it.
struct SumCase {
  double error = 0;
  double probabilistic = 0;
};

SumCase sum_case(const std::vector<double>& values, double seen, const Accumulation& how) {
  const auto n = static_cast<std::int64_t>(values.size());
  const Matrix zero = Matrix::Zero(1, 1);
  const Matrix k = Matrix::Zero(n, 1);
  const Matrix v = Eigen::Map<const Vector>(values.data(), n);
  KernelNumerics numerics{.output_sum = how, .tile_size = n};
  numerics.weight_sum.unit_roundoff = 0;  // l only counts keys, so it is exact
  const HeadOutput exact = dense_attention({zero, k, v}, {});
  const HeadBound bound = HeadErrorModel(k, v, numerics).bound(zero, {}, exact);
  const auto keys = static_cast<double>(n);
  return {std::abs(seen - exact.out(0, 0) * keys), bound.probabilistic(0, 0) * keys};
}

SumCase to_nearest(const std::vector<double>& values) {
  float sum = 0.0F;
  for (const double value : values) sum += static_cast<float>(value);
  return sum_case(values, sum, {});
}

// Sums in steps of 16 terms.
SumCase truncated(const std::vector<double>& values) {
  constexpr std::size_t kTerms = 16;
  float sum = 0.0F;
  for (std::size_t first = 0; first < values.size(); first += kTerms) {
    const std::size_t count = std::min(kTerms, values.size() - first);
    sum = truncated_sum(sum, {values.data() + first, count});
  }
  return sum_case(values, sum,
                  {.terms_per_step = kTerms, .rounding = AccumulatorRounding::kTruncate});
}

TEST_CASE("terms of a little more than half a unit are all rounded up, in two binades") {
  // At the ulp of the other binade, the terms of each binade would be rounded down.
  RandomStream stream(1);
  std::vector<double> values = {1.0};
  for (std::int64_t key = 0; key < kKeys; ++key) values.push_back(about(0.55, stream));
  values.push_back(1.05);
  for (std::int64_t key = 0; key < kKeys; ++key) values.push_back(about(1.1, stream));
  const SumCase sum = to_nearest(values);
  CAPTURE(sum.error, sum.probabilistic);
  CHECK(sum.error > 1.3 * kKeys * kUlp);
  CHECK(sum.error <= sum.probabilistic);
}

TEST_CASE("terms a little below some units lose almost one unit each in a truncating sum") {
  for (const double units : {0.985, 1.985, 2.985, 3.985, 16.985}) {
    RandomStream stream(2);
    std::vector<double> values = {1.0};
    for (std::int64_t key = 0; key < kKeys; ++key) values.push_back(about(units, stream));
    const SumCase sum = truncated(values);
    CAPTURE(units, sum.error / (kKeys * kUlp), sum.probabilistic / (kKeys * kUlp));
    CHECK(sum.error > 0.95 * kKeys * kUlp);
    CHECK(sum.error <= sum.probabilistic);
  }
}

// Four keys of equal weight with these values; the values are declared to be all different.
OneSidedErrors of_four_keys(const std::vector<double>& values, const KernelNumerics& numerics) {
  const Matrix v = Eigen::Map<const Vector>(values.data(), 4);
  const Vector coherence = Vector::Ones(1);
  const Eigen::RowVectorXd out = v.colwise().mean();
  WeightErrors weights;
  weights.weights = Vector::Constant(5, 0.25);
  weights.weights[4] = 0;  // the sink's weight
  weights.denominator = 4;
  return one_sided_errors({v, coherence, out}, weights, numerics);
}

TEST_CASE("the rounding errors of equal weights add up as far as values agree") {
  const KernelNumerics numerics{.weight_type = ElementType::kFp16};
  const OneSidedErrors agree = of_four_keys({2, 2, 2, 2}, numerics);
  CHECK(agree.stored_weights == 4);
  CHECK(agree.products[0] == 1);
  CHECK(agree.rounded_products[0] == Approx(4));
  // The square of the mean is a quarter of the mean square, so the other three count a quarter
  // each.
  CHECK(of_four_keys({2, 0, 0, 0}, numerics).rounded_products[0] == Approx(1 + 3 * 0.25));
  CHECK(of_four_keys({2, -2, 2, -2}, numerics).rounded_products[0] == 1);
}

TEST_CASE("partial sums are known to be small only for one lane in a known order") {
  const std::vector<double> alternating = {1, -1, 1, -1};
  const SummedTerms known = of_four_keys(alternating, {}).summed_products[0];
  CHECK(known.magnitudes == 1);      // four terms of a quarter each
  CHECK(known.partial_sums == 0.5);  // the difference of two partial sums of at most a quarter
  CHECK(known.net_terms == 2);
  for (const KernelNumerics& numerics : {KernelNumerics{.output_sum = {.lanes = 2}},
                                         KernelNumerics{.tile_order = TileOrder::kUnknown}}) {
    const SummedTerms unknown = of_four_keys(alternating, numerics).summed_products[0];
    CHECK(unknown.partial_sums == 1);
    CHECK(unknown.net_terms == 4);
  }
}

}  // namespace
}  // namespace recto::reference
