// A million random and adversarial cases of all types: the low-precision run never exceeds the hard
// bound, and exceeds the sharp one no more often than is stated. So it is for the profile by which
// kernels of others are judged, where the run is one that this profile describes.

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
  double hard = 0;
  double sharp = 0;

  // Any error would be within an infinite bound.
  bool is_right() const { return error <= sharp && std::isfinite(hard); }
};

struct Tally {
  std::int64_t elements = 0;
  std::int64_t unbounded = 0;
  std::int64_t beyond_hard = 0;
  std::int64_t beyond_sharp = 0;
  double worst_hard = 0;  // error / bound
  double worst_sharp = 0;
  double sum_of_sharp_ratios = 0;
  std::string first_failure;

  void add(const JudgedError& judged, const std::string& what) {
    const auto& [error, hard, sharp] = judged;
    ++elements;
    if (!judged.is_right() && first_failure.empty()) first_failure = what;
    if (!std::isfinite(hard)) ++unbounded;
    if (error == 0) return;
    if (!(error <= hard)) ++beyond_hard;
    if (!(error <= sharp)) ++beyond_sharp;
    worst_hard = std::max(worst_hard, error / hard);
    worst_sharp = std::max(worst_sharp, error / sharp);
    sum_of_sharp_ratios += error / sharp;
  }

  void join(const Tally& other) {
    elements += other.elements;
    unbounded += other.unbounded;
    beyond_hard += other.beyond_hard;
    beyond_sharp += other.beyond_sharp;
    worst_hard = std::max(worst_hard, other.worst_hard);
    worst_sharp = std::max(worst_sharp, other.worst_sharp);
    sum_of_sharp_ratios += other.sum_of_sharp_ratios;
    if (first_failure.empty()) first_failure = other.first_failure;
  }
};

// Of how a run computes; nothing where it does not describe the run.
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
  // In fp16 nothing remains of codes whose scale is tiny: any lse is right.
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
    add("out", i, {error, oracle.hard.out[i], oracle.sharp.out[i]}, out);
  }
  for (std::size_t i = 0; i < seen.lse_ln.size(); ++i) {
    const bool is_same = seen.lse_ln[i] == oracle.exact.lse_ln[i];  // infinities, too
    const double error = is_same ? 0.0 : std::abs(seen.lse_ln[i] - oracle.exact.lse_ln[i]);
    add("lse", i, {error, oracle.hard.lse_ln[i], oracle.sharp.lse_ln[i]}, lse_ln);
  }
}

void check(const char* name, const Tally& tally) {
  WARN(name << ": " << tally.elements << " elements, " << tally.beyond_hard << " beyond hard, "
            << tally.beyond_sharp << " beyond sharp; worst " << tally.worst_hard << " of hard, "
            << tally.worst_sharp << " of sharp; mean "
            << tally.sum_of_sharp_ratios / static_cast<double>(tally.elements) << " of sharp");
  INFO(tally.first_failure);
  CHECK(tally.unbounded == 0);
  CHECK(tally.beyond_hard == 0);
  CHECK(static_cast<double>(tally.beyond_sharp) <=
        kSharpFailure * static_cast<double>(tally.elements));
  // Bounds that nothing comes near would be worth nothing.
  CHECK(tally.worst_sharp > 0.5);
  CHECK(tally.worst_hard > 0.3);
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

TEST_CASE("the profile of others' kernels holds of all runs that it describes") {
  run_and_check(is_full_run() ? 2'500'000 : 50'000, profile_of_others);
}

}  // namespace
}  // namespace recto::reference
