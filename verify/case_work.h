#pragma once

// Estimates the work of a case, so that large cases can be budgeted without timing them.

#include <cstdint>

#include "verify/cases/attention_problem.h"

namespace recto::verify {

// Multiplications of attention, plus ten per number of K and V for drawing, placing and reading it.
// The oracle takes about five nanoseconds per unit. Linear in the number of sequences.
inline std::int64_t case_work(const AttentionProblem& problem) {
  const ProblemShape& shape = problem.shape;
  std::int64_t pairs = 0;
  std::int64_t tokens = 0;
  for (const SequenceProblem& sequence : problem.sequences) {
    pairs += sequence.num_rows * sequence.context_length;
    tokens += sequence.context_length;
  }
  return (pairs * shape.num_q_heads + 10 * tokens * shape.num_kv_heads) *
         (shape.head_dim_k + shape.head_dim_v);
}

}  // namespace recto::verify
