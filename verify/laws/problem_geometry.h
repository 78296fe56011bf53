#pragma once

// The laws' own interpretation of a problem: which keys a row sees, and where its values are.
// Written independently of the reference, so that laws do not inherit its mistakes.

#include <cstdint>
#include <vector>

#include "verify/cases/attention_problem.h"

namespace recto::verify {

struct RowPlace {
  std::int64_t sequence = 0;
  std::int64_t row = 0;         // within the sequence
  std::int64_t result_row = 0;  // in the call's results
};

// All query rows, in the order of the results.
std::vector<RowPlace> all_rows(const AttentionProblem& problem);

// The half-open range of keys that a row sees.
struct KeysSeen {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
};
KeysSeen keys_seen(const OwnedAttentionOptions& options, const SequenceProblem& sequence,
                   std::int64_t row);

// The factor that codes of a KV head are multiplied by; `scales` as in AttentionProblem.
double scale_of_head(const std::vector<float>& scales, std::int64_t kv_head);

// The dims of one head of one row, in an array [rows, num_heads, head_dim].
struct HeadsShape {
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
};
const float* row_of(const std::vector<float>& values, const HeadsShape& shape, std::int64_t row,
                    std::int64_t head);

std::int64_t longest_context(const AttentionProblem& problem);

}  // namespace recto::verify
