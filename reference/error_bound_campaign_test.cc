// A million random and adversarial cases of all types: the low-precision run never exceeds the
// worst-case bound, and exceeds the probabilistic bound no more often than stated. The same holds
// for the third-party profile, in the cases that it describes.

#include <cmath>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/error_bound.h"
#include "reference/rounding.h"
#include "reference/testing/bound_case.h"

namespace recto::reference {
namespace {

constexpr std::uint64_t kSeed = 2026;

struct JudgedError {
  double error = 0;
  double worst_case = 0;
  double probabilistic = 0;

  // An infinite bound would accept any error.
  bool is_right() const { return error <= probabilistic && std::isfinite(worst_case); }
};

struct Tally {
  std::int64_t elements = 0;
  std::int64_t unbounded = 0;
  std::int64_t beyond_worst_case = 0;
  std::int64_t beyond_probabilistic = 0;
  double worst_worst_case = 0;  // error / bound
  double worst_probabilistic = 0;
  double sum_of_probabilistic_ratios = 0;
  std::string first_failure;

  void add(const JudgedError& judged, const std::string& what) {
    const auto& [error, worst_case, probabilistic] = judged;
    ++elements;
    if (!judged.is_right() && first_failure.empty()) first_failure = what;
    if (!std::isfinite(worst_case)) ++unbounded;
    if (error == 0) return;
    if (!(error <= worst_case)) ++beyond_worst_case;
    if (!(error <= probabilistic)) ++beyond_probabilistic;
    worst_worst_case = std::max(worst_worst_case, error / worst_case);
    worst_probabilistic = std::max(worst_probabilistic, error / probabilistic);
    sum_of_probabilistic_ratios += error / probabilistic;
  }

  void join(const Tally& other) {
    elements += other.elements;
    unbounded += other.unbounded;
    beyond_worst_case += other.beyond_worst_case;
    beyond_probabilistic += other.beyond_probabilistic;
    worst_worst_case = std::max(worst_worst_case, other.worst_worst_case);
    worst_probabilistic = std::max(worst_probabilistic, other.worst_probabilistic);
    sum_of_probabilistic_ratios += other.sum_of_probabilistic_ratios;
    if (first_failure.empty()) first_failure = other.first_failure;
  }
};

// Returns how a run computes; nullopt if the profile does not describe the run.
using NumericsOf = std::optional<KernelNumerics> (*)(const BoundCase&);

std::optional<KernelNumerics> its_own(const BoundCase& problem) {
  return low_precision_numerics(problem.inputs(), problem.how());
}

std::optional<KernelNumerics> profile_of_others(const BoundCase& problem) {
  const LowPrecisionOptions& how = problem.how();
  const bool has_short_steps =
      how.rounding == AccumulatorRounding::kTruncate && how.terms_per_step < 4;
  if (how.summed_weights == SummedWeights::kRounded || how.split_size > 0 || how.tile_size < 16 ||
      has_short_steps) {
    return std::nullopt;
  }
  // With a tiny scale, all dequantised codes underflow in fp16: any lse is then right.
  const KvTensorView& k = problem.inputs().kv.k;
  const bool is_lost = problem.inputs().q.type == ElementType::kFp16 && is_fp8(k.type) &&
                       *k.scale.data < unit_roundoff(ElementType::kFp16);
  if (is_lost) return std::nullopt;
  return third_party_numerics(problem.inputs().q.type, k.type);
}

void run_case(std::uint64_t number, NumericsOf numerics_of, Tally& out, Tally& lse_ln) {
  const BoundCase problem(RandomStream(kSeed).split(number));
  const std::optional<KernelNumerics> numerics = numerics_of(problem);
  if (!numerics) return;
  const AttentionResult seen = low_precision_attention(problem.inputs(), problem.how());
  const BoundedResult oracle = bounded_attention(problem.inputs(), *numerics);
  const auto add = [&](const char* tensor, std::size_t element, const JudgedError& judged,
                       Tally& tally) {
    if (judged.is_right()) return tally.add(judged, {});
    std::ostringstream what;
    what << "case " << number << ", element " << element << " of " << tensor << "\n"
         << problem.text();
    tally.add(judged, what.str());
  };
  for (std::size_t i = 0; i < seen.out.size(); ++i) {
    const double error = std::abs(seen.out[i] - oracle.exact.out[i]);
    add("out", i, {error, oracle.worst_case.out[i], oracle.probabilistic.out[i]}, out);
  }
  for (std::size_t i = 0; i < seen.lse_ln.size(); ++i) {
    const bool is_same = seen.lse_ln[i] == oracle.exact.lse_ln[i];  // infinities, too
    const double error = is_same ? 0.0 : std::abs(seen.lse_ln[i] - oracle.exact.lse_ln[i]);
    add("lse", i, {error, oracle.worst_case.lse_ln[i], oracle.probabilistic.lse_ln[i]}, lse_ln);
  }
}

void check(const char* name, const Tally& tally) {
  WARN(name << ": " << tally.elements << " elements, " << tally.beyond_worst_case
            << " beyond worst-case, " << tally.beyond_probabilistic
            << " beyond probabilistic; worst " << tally.worst_worst_case << " of worst-case, "
            << tally.worst_probabilistic << " of probabilistic; mean "
            << tally.sum_of_probabilistic_ratios / static_cast<double>(tally.elements)
            << " of probabilistic");
  INFO(tally.first_failure);
  CHECK(tally.unbounded == 0);
  CHECK(tally.beyond_worst_case == 0);
  CHECK(static_cast<double>(tally.beyond_probabilistic) <=
        kProbabilisticFailure * static_cast<double>(tally.elements));
  // Guards against bounds that are far too wide.
  CHECK(tally.worst_probabilistic > 0.5);
  CHECK(tally.worst_worst_case > 0.3);
}

void run_and_check(std::uint64_t cases, NumericsOf numerics_of) {
  constexpr unsigned kThreads = 2;
  std::vector<Tally> out(kThreads);
  std::vector<Tally> lse_ln(kThreads);
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread, cases, numerics_of, &out, &lse_ln] {
      for (std::uint64_t number = thread; number < cases; number += kThreads) {
        run_case(number, numerics_of, out[thread], lse_ln[thread]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  out[0].join(out[1]);
  lse_ln[0].join(lse_ln[1]);
  check("out", out[0]);
  check("lse", lse_ln[0]);
}

TEST_CASE("no error exceeds its bound in a campaign of adversarial cases") {
  run_and_check(is_full_run() ? 10'000'000 : 100'000, its_own);
}

TEST_CASE("the third-party profile's bounds hold for every run that it describes") {
  run_and_check(is_full_run() ? 2'500'000 : 50'000, profile_of_others);
}

}  // namespace
}  // namespace recto::reference
