#include "verify/laws/problem_geometry.h"

#include <algorithm>
#include <cstddef>

namespace recto::verify {

std::vector<RowPlace> all_rows(const AttentionProblem& problem) {
  std::vector<RowPlace> rows;
  for (std::size_t s = 0; s < problem.sequences.size(); ++s) {
    for (std::int64_t r = 0; r < problem.sequences[s].num_rows; ++r)
      rows.push_back({.sequence = static_cast<std::int64_t>(s),
                      .row = r,
                      .result_row = static_cast<std::int64_t>(rows.size())});
  }
  return rows;
}

KeysSeen keys_seen(const OwnedAttentionOptions& options, const SequenceProblem& sequence,
                   std::int64_t row) {
  const std::int64_t context = sequence.context_length;
  const std::int64_t position = context - sequence.num_rows + row;
  KeysSeen keys{.begin = 0, .end = context};
  if (options.causal) keys.end = std::clamp<std::int64_t>(position + 1, 0, context);
  if (options.window)
    keys.begin = std::clamp<std::int64_t>(position - *options.window + 1, 0, keys.end);
  return keys;
}

double scale_of_head(const std::vector<float>& scales, std::int64_t kv_head) {
  if (scales.empty()) return 1.0;
  return scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(kv_head)];
}

const float* row_of(const std::vector<float>& values, const HeadsShape& shape, std::int64_t row,
                    std::int64_t head) {
  return values.data() + (row * shape.num_heads + head) * shape.head_dim;
}

std::int64_t longest_context(const AttentionProblem& problem) {
  std::int64_t longest = 0;
  for (const SequenceProblem& sequence : problem.sequences)
    longest = std::max(longest, sequence.context_length);
  return longest;
}

}  // namespace recto::verify
