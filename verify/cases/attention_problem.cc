#include "verify/cases/attention_problem.h"

namespace recto::verify {

std::int64_t AttentionProblem::num_rows() const {
  std::int64_t rows = 0;
  for (const SequenceProblem& sequence : sequences) rows += sequence.num_rows;
  return rows;
}

std::int64_t AttentionProblem::work() const {
  std::int64_t pairs = 0;
  std::int64_t tokens = 0;
  for (const SequenceProblem& sequence : sequences) {
    pairs += sequence.num_rows * sequence.context_length;
    tokens += sequence.context_length;
  }
  return (pairs * shape.num_q_heads + 10 * tokens * shape.num_kv_heads) *
         (shape.head_dim_k + shape.head_dim_v);
}

}  // namespace recto::verify
