// Attention is a function of a set of keys. All rows see the keys before the first query row, so
// these may be in any order; the causal cuts after them do not move.

#include <algorithm>
#include <numeric>

#include "core/random_stream.h"
#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"
#include "verify/laws/problem_geometry.h"

namespace recto::verify {
namespace {

// The number of leading keys of a sequence without a causal cut among them.
std::int64_t uncut_keys(const OwnedAttentionOptions& options, const SequenceProblem& sequence) {
  if (sequence.num_rows == 0) return 0;
  return options.causal ? keys_seen(options, sequence, 0).end : sequence.context_length;
}

std::vector<std::int64_t> shuffled(std::int64_t count, RandomStream& stream) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, stream);
  return order;
}

// Token j gets the values of token order[j], for the first order.size() tokens; `width` values
// each.
void reorder(std::vector<float>& values, const std::vector<std::int64_t>& order,
             std::int64_t width) {
  const std::vector<float> before = values;
  for (std::size_t j = 0; j < order.size(); ++j)
    std::copy_n(before.begin() + order[j] * width, width,
                values.begin() + static_cast<std::int64_t>(j) * width);
}

template <typename MakeOrder>
LawCase reordered(LawCase law_case, MakeOrder&& make_order) {
  const ProblemShape& shape = law_case.problem.shape;
  for (SequenceProblem& sequence : law_case.problem.sequences) {
    const std::vector<std::int64_t> order =
        make_order(uncut_keys(law_case.problem.options, sequence));
    reorder(sequence.k, order, shape.num_kv_heads * shape.head_dim_k);
    reorder(sequence.v, order, shape.num_kv_heads * shape.head_dim_v);
  }
  return law_case;
}

std::optional<std::string> why_not_applicable(const LawCase& law_case) {
  const AttentionProblem& problem = law_case.problem;
  if (!problem.options.alibi_slopes.empty()) return "ALiBi weighs keys by position";
  if (problem.options.window) return "a window chooses keys by position";
  for (const SequenceProblem& sequence : problem.sequences)
    if (uncut_keys(problem.options, sequence) > 1) return std::nullopt;
  return "no two keys without a causal cut between them";
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  RandomStream stream = RandomStream(law_case.placement.seed).split("key_permutation");
  const auto reverse = [](std::int64_t count) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.rbegin(), order.rend(), 0);
    return order;
  };
  const auto shuffle = [&](std::int64_t count) { return shuffled(count, stream); };
  trial.compare_within_bounds(law_case, {{"keys in reverse", reordered(law_case, reverse)},
                                         {"keys shuffled", reordered(law_case, shuffle)}});
  return trial.verdict();
}

}  // namespace

Law key_permutation_law() {
  return {.name = "key_permutation",
          .statement = "the order of keys without a causal cut among them does not matter",
          .why_not_applicable = why_not_applicable,
          .check = check};
}

}  // namespace recto::verify
