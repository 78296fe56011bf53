#pragma once

// One attention problem without addresses: the inputs in logical order. Laws transform problems;
// verify/cases/placed_problem.h lays them out in a paged cache.

#include <cstdint>
#include <vector>

#include "core/attention_views.h"
#include "core/element_type.h"

namespace recto::verify {

struct ProblemShape {
  std::int64_t num_q_heads = 1;
  std::int64_t num_kv_heads = 1;
  std::int64_t head_dim_k = 1;
  std::int64_t head_dim_v = 1;
  ElementType q_type = ElementType::kFp32;
  ElementType kv_type = ElementType::kFp32;

  std::int64_t group() const { return num_q_heads / num_kv_heads; }
  friend bool operator==(const ProblemShape&, const ProblemShape&) = default;
};

// One sequence. The values are exact in their storage types (fp8: before the scale).
struct SequenceProblem {
  std::int64_t num_rows = 0;        // query rows, the last positions of the context
  std::int64_t context_length = 0;  // may be 0, with any number of rows
  std::vector<float> q;             // [num_rows, num_q_heads, head_dim_k]
  std::vector<float> k;             // [context_length, num_kv_heads, head_dim_k]
  std::vector<float> v;             // [context_length, num_kv_heads, head_dim_v]
};

struct AttentionProblem {
  ProblemShape shape;
  OwnedAttentionOptions options;
  std::vector<float> k_scales;  // empty, [1] or [num_kv_heads]
  std::vector<float> v_scales;  // the same
  std::vector<SequenceProblem> sequences;

  std::int64_t num_rows() const;  // of all sequences
  // An estimate of the oracle's work on it, so that large cases are budgeted without a clock:
  // multiplications of attention, plus ten per number of K and V for drawing, placing and reading
  // it. The oracle takes about five nanoseconds per unit. Linear in the number of sequences.
  std::int64_t work() const;
};

}  // namespace recto::verify
