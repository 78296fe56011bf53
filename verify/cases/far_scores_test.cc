// Peaked ends: a key at either end exceeds all others, by about 10 or by more than 88.

#include "verify/cases/far_scores.h"

#include <algorithm>
#include <set>
#include <utility>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kContext = 1100;
constexpr std::int64_t kRows = 2;

using Peak = std::pair<std::int64_t, bool>;  // its position, and whether it is far above

double score(const AttentionProblem& problem, std::int64_t row, std::int64_t head,
             std::int64_t token) {
  const ProblemShape& shape = problem.shape;
  const SequenceProblem& sequence = problem.sequences[0];
  const std::int64_t dim = shape.head_dim_k;
  const float* const q = &sequence.q[(row * shape.num_q_heads + head) * dim];
  const float* const k = &sequence.k[(token * shape.num_kv_heads + head / shape.group()) * dim];
  double sum = 0.0;
  for (std::int64_t d = 0; d < dim; ++d) sum += static_cast<double>(q[d]) * k[d];
  return sum * problem.options.scale;
}

TEST_CASE("each of four KV heads has a peak of its own, at the first key or the first row's") {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 8, .num_kv_heads = 4, .head_dim_k = 64, .head_dim_v = 1};
  spec.sequences = {{.num_rows = kRows, .context_length = kContext, .id = 1}};
  peak_ends(spec);
  REQUIRE(check_case(spec).is_ok());
  const AttentionProblem problem = make_problem(spec);
  std::set<Peak> peaks;
  for (std::int64_t head = 0; head < 8; ++head) {
    for (std::int64_t row = 0; row < kRows; ++row) {
      std::vector<double> scores;
      for (std::int64_t token = 0; token < kContext; ++token)
        scores.push_back(score(problem, row, head, token));
      const auto best = std::ranges::max_element(scores);
      const double highest = std::exchange(*best, -1000.0);
      const double above = highest - *std::ranges::max_element(scores);
      CAPTURE(head, row, above);
      CHECK(((above > 7 && above < 14) || above > 89));
      peaks.emplace(best - scores.begin(), above > 89);
    }
  }
  const std::int64_t own = kContext - kRows;
  CHECK(peaks == std::set<Peak>{{0, false}, {0, true}, {own, false}, {own, true}});
}

}  // namespace
}  // namespace recto::verify
