// GQA only avoids storing K and V several times: if each KV head is repeated for every query head
// of its group, the result is the same.

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

std::vector<float> repeated(const std::vector<float>& values, std::int64_t width,
                            std::int64_t times) {
  std::vector<float> result;
  result.reserve(values.size() * static_cast<std::size_t>(times));
  for (auto head = values.begin(); head != values.end(); head += width)
    for (std::int64_t copy = 0; copy < times; ++copy)
      result.insert(result.end(), head, head + width);
  return result;
}

LawCase ungrouped(LawCase law_case) {
  AttentionProblem& problem = law_case.problem;
  const std::int64_t group = problem.shape.group();
  for (SequenceProblem& sequence : problem.sequences) {
    sequence.k = repeated(sequence.k, problem.shape.head_dim_k, group);
    sequence.v = repeated(sequence.v, problem.shape.head_dim_v, group);
  }
  // A single scale is the tensor's, or the only KV head's, and is right for the copies, too.
  for (std::vector<float>* scales : {&problem.k_scales, &problem.v_scales})
    if (scales->size() > 1) *scales = repeated(*scales, 1, group);
  problem.shape.num_kv_heads = problem.shape.num_q_heads;
  return law_case;
}

std::optional<std::string> why_not_applicable(const LawCase& law_case) {
  if (law_case.problem.shape.group() == 1) return "every query head has its own KV head";
  return std::nullopt;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  trial.compare_within_bounds(law_case, {{"each KV head repeated", ungrouped(law_case)}});
  return trial.verdict();
}

}  // namespace

Law repeated_kv_heads_law() {
  return {.name = "repeated_kv_heads",
          .statement = "grouped queries equal multi-head attention with repeated KV heads",
          .why_not_applicable = why_not_applicable,
          .check = check};
}

}  // namespace recto::verify
