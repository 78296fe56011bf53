#pragma once

// How far a kernel may be from the fp64 result, element by element. docs/numerics.md has the
// derivation.
//
//   hard    rigorous inside the domain: beyond it lies a defect, always
//   sharp   rounding errors as independent variables: beyond it, for an element that is right, with
//           probability kSharpFailure at most under that model

#include <vector>

#include "core/attention_views.h"
#include "reference/dense_attention.h"
#include "reference/numerics.h"
#include "reference/paged_attention.h"

namespace recto::reference {

// Deviations allowed per random term of the sharp bound.
inline constexpr double kSharpLambda = 4.0;
// Six random terms, each beyond lambda sqrt(n) u with probability 2 exp(-3 lambda^2 / 2) if
// rounding errors are independent and uniform in +-u.
inline constexpr double kSharpFailure = 6 * 2 * 3.775e-11;

struct HeadBound {
  Matrix hard;       // [m, head_dim_v]
  Matrix sharp;      // [m, head_dim_v], <= hard
  Vector lse_hard;   // [m]
  Vector lse_sharp;  // [m]
};

// `exact` is dense_attention(inputs, options). O(m n (head_dim_k + head_dim_v)).
HeadBound error_bound(const HeadInputs& inputs, const HeadOptions& options, const HeadOutput& exact,
                      const KernelNumerics& numerics);

// The oracle: exact results and both bounds, each as [num_rows, num_heads, head_dim] and
// [num_rows, num_heads].
struct BoundedResult {
  AttentionResult exact;
  AttentionResult hard;
  AttentionResult sharp;
};

BoundedResult bounded_attention(const PagedAttentionInputs& inputs, const KernelNumerics& numerics);

}  // namespace recto::reference
