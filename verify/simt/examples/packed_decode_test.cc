// An unchanged CUDA extension on the executor: its results against the oracle. It gives no
// log-sum-exp, so only `out` is compared.

#include <cmath>
#include <iostream>
#include <string>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/error_bound.h"
#include "verify/cases/case_generator.h"
#include "verify/cases/placed_problem.h"
#include "verify/comparison.h"
#include "verify/simt/examples/packed_decode_backend.h"
#include "verify/simt/examples/packed_decode_cases.h"

namespace recto::verify {
namespace {

struct Judgement {
  int beyond_worst_case = 0;
  int beyond_probabilistic = 0;
  double worst = 0;  // of error over the probabilistic bound
  std::string text;
};

void judge(const Backend& backend, const PagedAttentionInputs& inputs, Judgement& judgement) {
  reference::AttentionResult seen = result_of(backend.call(inputs));
  const reference::BoundedResult oracle =
      reference::bounded_attention(inputs, backend.numerics(inputs));
  seen.lse_ln = oracle.exact.lse_ln;
  const Comparison probabilistic = compare(inputs, seen, oracle.exact, oracle.probabilistic);
  const Comparison worst_case = compare(inputs, seen, oracle.exact, oracle.worst_case);
  judgement.beyond_probabilistic += probabilistic.passed() ? 0 : 1;
  judgement.beyond_worst_case += worst_case.passed() ? 0 : 1;
  judgement.worst = std::max(judgement.worst, probabilistic.worst_ratio);
  if (!probabilistic.passed()) judgement.text = probabilistic.text();
}

Judgement judge_cases(const PackedDecodeHow& how, const TypePair& types, std::uint64_t count) {
  simt::Executor executor({});
  const Backend backend = packed_decode_backend(executor, how);
  Judgement judgement;
  for (std::uint64_t number = 0; number < count; ++number) {
    RandomStream stream = RandomStream(2026).split("packed-decode").split(number);
    const CaseSpec spec = draw_case(stream, packed_domain(types));
    const PlacedProblem placed(make_problem(spec), spec.placement);
    REQUIRE_FALSE(backend.why_unsupported(placed.inputs()).has_value());
    judge(backend, placed.inputs(), judgement);
  }
  return judgement;
}

TEST_CASE(
    "an extension runs as it is, in one pass and in partitions, within the probabilistic bound") {
  for (const TypePair& types : {kFloat, kHalf}) {
    for (const std::int64_t partition_size : {0, 64}) {
      const Judgement judgement = judge_cases({.partition_size = partition_size}, types, 40);
      INFO(judgement.text);
      CHECK(judgement.beyond_probabilistic == 0);
    }
  }
}

TEST_CASE("sums in half precision are told from sums in float") {
  const Judgement judgement = judge_cases({.half_sums = true}, kHalf, 40);
  std::cout << "half sums: " << judgement.beyond_worst_case
            << " of 40 cases beyond the worst-case bound, " << judgement.beyond_probabilistic
            << " beyond the probabilistic one, worst " << judgement.worst
            << " times the probabilistic one\n";
  CHECK(judgement.beyond_probabilistic > 0);
}

}  // namespace
}  // namespace recto::verify
