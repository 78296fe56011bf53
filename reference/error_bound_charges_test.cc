// Tests each charge of the bounds separately: it is present in out, in lse or in both. Where no
// random case would reveal a missing charge, a constructed case does.

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/error_bound.h"
#include "reference/fp32_arithmetic.h"
#include "reference/rounding.h"

namespace recto::reference {
namespace {

// Sums over all elements of one problem's bounds.
struct Total {
  double out_worst_case = 0;
  double out_probabilistic = 0;
  double lse_ln_worst_case = 0;
  double lse_ln_probabilistic = 0;
};

Total total(const KernelNumerics& numerics) {
  RandomStream stream(8);
  const auto draw = [&stream] {
    double sum = -6;  // a sum of twelve uniform numbers is nearly normal
    for (int i = 0; i < 12; ++i) sum += stream.next_unit();
    return round_to(sum, ElementType::kBf16);
  };
  const Matrix q = Matrix::NullaryExpr(1, 16, draw);
  const Matrix k = Matrix::NullaryExpr(500, 16, draw);
  const Matrix v = Matrix::NullaryExpr(500, 8, draw);
  const HeadOptions options{.scale = 0.25, .softcap = 5, .alibi_slope = 0.1};
  const HeadBound bound =
      HeadErrorModel(k, v, numerics).bound(q, options, dense_attention({q, k, v}, options));
  return {bound.worst_case.sum(), bound.probabilistic.sum(), bound.lse_ln_worst_case.sum(),
          bound.lse_ln_probabilistic.sum()};
}

constexpr KernelNumerics kPlain{.tile_size = 64, .output_type = ElementType::kFp32};

enum class Costs { kOut, kLseLn, kBoth };

struct Charge {
  std::string name;
  std::function<void(KernelNumerics&)> change;
};

// Compares bounds with and without the charge: larger where it applies, probabilistic below
// worst-case.
void expect_costs(const Charge& charge, const KernelNumerics& without, Costs where) {
  const bool in_out = where != Costs::kLseLn;
  const bool in_lse_ln = where != Costs::kOut;
  INFO(charge.name);
  KernelNumerics worse = without;
  charge.change(worse);
  const Total before = total(without);
  const Total after = total(worse);
  CHECK((after.out_worst_case > before.out_worst_case) == in_out);
  CHECK((after.out_probabilistic > before.out_probabilistic) == in_out);
  CHECK((after.lse_ln_worst_case > before.lse_ln_worst_case) == in_lse_ln);
  CHECK((after.lse_ln_probabilistic > before.lse_ln_probabilistic) == in_lse_ln);
  CHECK(after.out_probabilistic < after.out_worst_case);
  CHECK(after.lse_ln_probabilistic <= after.lse_ln_worst_case);
}

TEST_CASE("errors that change the weights are charged to out and to lse") {
  const Charge charges[] = {
      {"unit roundoff", [](KernelNumerics& n) { n.unit_roundoff = 0x1p-20; }},
      {"underflow", [](KernelNumerics& n) { n.underflow = 1e-6; }},
      {"flushed inputs", [](KernelNumerics& n) { n.input_flush = 1e-6; }},
      {"reading K and V", [](KernelNumerics& n) { n.kv_read = 0x1p-20; }},
      {"reading q", [](KernelNumerics& n) { n.query_read = 0x1p-20; }},
      {"score sum", [](KernelNumerics& n) { n.score_sum.product_roundings = 1; }},
      {"times scale", [](KernelNumerics& n) { n.score_roundings = 4; }},
      {"the scale", [](KernelNumerics& n) { n.shared_scale = 0x1p-20; }},
      {"softcap's roundings", [](KernelNumerics& n) { n.softcap_roundings = 4; }},
      {"tanh", [](KernelNumerics& n) { n.tanh_relative = 0x1p-11; }},
      {"bias", [](KernelNumerics& n) { n.bias_roundings = 4; }},
      {"arguments", [](KernelNumerics& n) { n.argument_roundings = 2; }},
      {"exp, relative", [](KernelNumerics& n) { n.exponential.relative = 0x1p-20; }},
      {"exp, growing", [](KernelNumerics& n) { n.exponential.relative_slope = 0x1p-23; }},
      {"exp, flushed", [](KernelNumerics& n) { n.exponential.flush = 1e-3; }},
      {"sum of weights", [](KernelNumerics& n) { n.weight_sum.unit_roundoff = 0x1p-20; }},
      {"order of tiles", [](KernelNumerics& n) { n.tile_order = TileOrder::kUnknown; }},
      {"merges", [](KernelNumerics& n) { n.state_merges = 5; }},
      {"tiles", [](KernelNumerics& n) { n.tile_size = 1; }}};
  for (const Charge& charge : charges) expect_costs(charge, kPlain, Costs::kBoth);
  KernelNumerics reads_fp8 = kPlain;
  reads_fp8.kv_read = 0x1p-24;
  expect_costs({"reading subnormals", [](KernelNumerics& n) { n.kv_read_underflow = 1e-6; }},
               reads_fp8, Costs::kBoth);
}

TEST_CASE(
    "errors after the weights are charged to out alone, those of the logarithm to lse alone") {
  const Charge of_out[] = {
      {"P", [](KernelNumerics& n) { n.weight_type = ElementType::kBf16; }},
      {"products", [](KernelNumerics& n) { n.product_type = ElementType::kBf16; }},
      {"partial results", [](KernelNumerics& n) { n.partial_type = ElementType::kFp16; }},
      {"output type", [](KernelNumerics& n) { n.output_type = ElementType::kFp16; }},
      {"1 / l", [](KernelNumerics& n) { n.normalisation_roundings = 4; }},
      {"sum of products", [](KernelNumerics& n) { n.output_sum.product_roundings = 1; }},
      {"truncation", [](KernelNumerics& n) {
         n.output_sum.terms_per_step = 16;
         n.output_sum.rounding = AccumulatorRounding::kTruncate;
       }}};
  for (const Charge& charge : of_out) expect_costs(charge, kPlain, Costs::kOut);
  const Charge of_lse_ln[] = {
      {"log, relative", [](KernelNumerics& n) { n.log_relative = 0x1p-20; }},
      {"log near 1", [](KernelNumerics& n) { n.log_absolute = 0x1p-21; }},
      {"roundings of lse", [](KernelNumerics& n) { n.lse_ln_roundings = 9; }}};
  for (const Charge& charge : of_lse_ln) expect_costs(charge, kPlain, Costs::kLseLn);
}

TEST_CASE("l that sums rounded weights carries their roundings to lse") {
  KernelNumerics unrounded = kPlain;
  unrounded.weight_type = ElementType::kBf16;
  KernelNumerics rounded = unrounded;
  rounded.summed_weights = SummedWeights::kRounded;
  const Total before = total(unrounded);
  const Total after = total(rounded);
  CHECK(after.lse_ln_worst_case > 10 * before.lse_ln_worst_case);
  CHECK(after.lse_ln_probabilistic > before.lse_ln_probabilistic);
  // In out the roundings are then centred, which may increase or decrease the bound.
  CHECK(after.out_worst_case != before.out_worst_case);
}

// The cost in out of merging parts differently. All else is exact: equal scores have no error, and
// the mean of equal values 1 is 1 whatever the weights are.
struct MergeCost {
  double worst_case = 0;
  double probabilistic = 0;
};

MergeCost cost_of_merging(SplitMerge merge, const std::function<void(KernelNumerics&)>& change) {
  constexpr std::int64_t kKeys = 1000;
  const Matrix zero = Matrix::Zero(1, 1);
  const Matrix k = Matrix::Zero(kKeys, 1);
  const Matrix v = Matrix::Ones(kKeys, 1);
  const HeadOutput exact = dense_attention({zero, k, v}, {});
  KernelNumerics numerics = kPlain;
  numerics.split_size = 100;
  numerics.split_merge = merge;
  const HeadBound before = HeadErrorModel(k, v, numerics).bound(zero, {}, exact);
  change(numerics);
  const HeadBound after = HeadErrorModel(k, v, numerics).bound(zero, {}, exact);
  return {after.worst_case(0, 0) - before.worst_case(0, 0),
          after.probabilistic(0, 0) - before.probabilistic(0, 0)};
}

TEST_CASE("merging normalised parts charges lse, its logarithm and the exponential of ln n") {
  // A part has the weight exp(lse_k - lse); each factor has this error.
  struct Part {
    Charge charge;
    double error;  // of one lse, or of one exponential
  };
  const double log_sum = std::log(1000);
  const Part parts[] = {
      {{"roundings of lse", [](KernelNumerics& n) { n.lse_ln_roundings += 64; }},
       64 * 0x1p-24 * log_sum},
      {{"log, relative", [](KernelNumerics& n) { n.log_relative += 0x1p-17; }}, 0x1p-17 * log_sum},
      {{"log near 1", [](KernelNumerics& n) { n.log_absolute = 0x1p-17; }}, 0x1p-17},
      {{"exp, relative", [](KernelNumerics& n) { n.exponential.relative += 0x1p-17; }}, 0x1p-17},
      {{"exp, growing", [](KernelNumerics& n) { n.exponential.relative_slope = 0x1p-17; }},
       0x1p-17 * log_sum}};
  for (const auto& [charge, error] : parts) {
    INFO(charge.name);
    const MergeCost normalised = cost_of_merging(SplitMerge::kNormalised, charge.change);
    CHECK(normalised.worst_case == Approx(2 * error).epsilon(0.01));
    CHECK(normalised.probabilistic == Approx(2 * error).epsilon(0.01));
    const MergeCost state = cost_of_merging(SplitMerge::kState, charge.change);
    CHECK(std::abs(state.worst_case) < 0.001 * error);
    CHECK(std::abs(state.probabilistic) < 0.001 * error);
  }
}

TEST_CASE("lse is stored in fp32, and that rounding is charged") {
  RandomStream stream(11);
  int beyond_without = 0;
  for (int problem = 0; problem < 100; ++problem) {
    const Matrix one = Matrix::Ones(1, 1);
    const Matrix k = Matrix::NullaryExpr(8, 1, [&stream] { return 8 * stream.next_unit(); });
    const Matrix v = Matrix::Ones(8, 1);
    const HeadOutput exact = dense_attention({one, k, v}, {});
    KernelNumerics numerics = fp64_numerics(8);
    const HeadBound without = HeadErrorModel(k, v, numerics).bound(one, {}, exact);
    numerics.output_type = ElementType::kFp32;
    const HeadBound bound = HeadErrorModel(k, v, numerics).bound(one, {}, exact);
    const double error = std::abs(round_to(exact.lse_ln[0], ElementType::kFp32) - exact.lse_ln[0]);
    CAPTURE(problem, error, bound.lse_ln_probabilistic[0]);
    CHECK(error <= bound.lse_ln_probabilistic[0]);
    CHECK(bound.lse_ln_probabilistic[0] == Approx(0x1p-24 * exact.lse_ln[0]).epsilon(0.001));
    CHECK(bound.lse_ln_worst_case[0] == Approx(0x1p-24 * exact.lse_ln[0]).epsilon(0.001));
    beyond_without += error > without.lse_ln_worst_case[0] ? 1 : 0;
  }
  CHECK(beyond_without > 90);
}

// Two keys with scores 0 and -distance, exact as products of 1, and values 0 and 1. A kernel with
// CUDA's fast exponential computes exp(-distance) with an error of 1.173 ulp per unit of distance;
// its other errors are those of the argument and a few roundings.
struct FarKey {
  double error = 0;
  double worst_case = 0;
  double probabilistic = 0;
  double worst_case_without_exp = 0;
};

FarKey far_key(int distance) {
  const float weight =
      Fp32Arithmetic{.functions = MathFunctions::kFast}.exp(-static_cast<float>(distance));
  const float out = weight / (1.0F + weight);
  const Matrix q = Matrix::Ones(1, 1);
  Matrix k(2, 1);
  k << 0, -distance;
  Matrix v(2, 1);
  v << 0, 1;
  KernelNumerics numerics{.score_roundings = 0,
                          .exponential = {.relative = 2 * 0x1p-23,
                                          .relative_slope = 1.173 * 0x1p-23,
                                          .flush = 0x1p-126},
                          .tile_size = 2,
                          .normalisation_roundings = 1,
                          .output_type = ElementType::kFp32};
  numerics.score_sum.unit_roundoff = 0;  // of one product of 1
  const HeadOutput exact = dense_attention({q, k, v}, {});
  const HeadBound bound = HeadErrorModel(k, v, numerics).bound(q, {}, exact);
  numerics.exponential = {.relative = 0, .relative_slope = 0, .flush = 0x1p-126};
  const HeadBound without = HeadErrorModel(k, v, numerics).bound(q, {}, exact);
  return {std::abs(out - exact.out(0, 0)), bound.worst_case(0, 0), bound.probabilistic(0, 0),
          without.worst_case(0, 0)};
}

TEST_CASE("the bounds need their charge for an exponential's error that grows with its argument") {
  int beyond_without = 0;
  for (int distance = 20; distance < 80; ++distance) {
    const FarKey key = far_key(distance);
    CAPTURE(distance, key.error, key.worst_case, key.probabilistic, key.worst_case_without_exp);
    CHECK(key.error <= key.probabilistic);
    CHECK(key.probabilistic <= key.worst_case);
    beyond_without += key.error > key.worst_case_without_exp ? 1 : 0;
  }
  CHECK(beyond_without > 10);
}

}  // namespace
}  // namespace recto::reference
