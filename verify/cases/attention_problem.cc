#include "verify/cases/attention_problem.h"

namespace recto::verify {

std::int64_t AttentionProblem::num_rows() const {
  std::int64_t rows = 0;
  for (const SequenceProblem& sequence : sequences) rows += sequence.num_rows;
  return rows;
}

}  // namespace recto::verify
