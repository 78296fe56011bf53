#pragma once

// Per-element bounds on the distance between a kernel's result and the fp64 result.
// docs/numerics.md derives them.
//
//   worst-case     rigorous inside the domain: an error beyond it is always a defect
//   probabilistic  models rounding errors as independent variables: a correct element exceeds it
//   with
//                  probability at most kProbabilisticFailure, as far as that model holds
//
// The domain: finite addressed inputs, scores within +-1e4, no fp32 partial sum that overflows.

#include <vector>

#include "core/attention_views.h"
#include "reference/dense_attention.h"
#include "reference/numerics.h"
#include "reference/paged_attention.h"
#include "reference/weight_error.h"

namespace recto::reference {

// Six random terms; each exceeds lambda sqrt(n) u with probability 2 exp(-3 lambda^2 / 2) if
// rounding errors are independent and uniform in +-u.
inline constexpr double kProbabilisticFailure = 6 * 2 * 3.775e-11;

struct HeadBound {
  Matrix worst_case;            // [m, head_dim_v]
  Matrix probabilistic;         // [m, head_dim_v], <= worst-case
  Vector lse_ln_worst_case;     // [m]
  Vector lse_ln_probabilistic;  // [m]
};

// The bounds for one KV head's keys and values, for all query heads that share it.
class HeadErrorModel {
 public:
  // k [n, head_dim_k] and v [n, head_dim_v] must outlive the model. O(n (head_dim_k + head_dim_v)).
  HeadErrorModel(const Matrix& k, const Matrix& v, const KernelNumerics& numerics);

  // `exact` is dense_attention({q, k, v}, options). O(m n (head_dim_k + head_dim_v)).
  HeadBound bound(const Matrix& q, const HeadOptions& options, const HeadOutput& exact) const;

  // Must be called after a row of k has changed. O(head_dim_k).
  void reread_key(std::int64_t key);

 private:
  const Matrix& k_;
  const Matrix& v_;
  KernelNumerics numerics_;
  Vector key_coherence_;    // [n]
  Vector value_coherence_;  // [head_dim_v]: count of each dim's most frequent magnitude
};

// The oracle: exact results and both bounds, each with `out` as [num_rows, num_heads, head_dim] and
// `lse_ln` as [num_rows, num_heads].
struct BoundedResult {
  AttentionResult exact;
  AttentionResult worst_case;
  AttentionResult probabilistic;
};

BoundedResult bounded_attention(const PagedAttentionInputs& inputs, const KernelNumerics& numerics);

// The same for a decode step, whose newest token is outside the cache. numerics.kv_read also
// applies to the K and V of that token, although they have no scale.
BoundedResult bounded_decode_step(const DecodeStepInputs& inputs, const KernelNumerics& numerics);

}  // namespace recto::reference
