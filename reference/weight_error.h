#pragma once

// Error bounds of a kernel's softmax weights. See docs/numerics.md, "Weights".

#include "reference/dense_attention.h"
#include "reference/numerics.h"
#include "reference/score_error.h"

namespace recto::reference {

// Number of deviations that the probabilistic bound allows per random term.
inline constexpr double kProbabilisticLambda = 4.0;

// The exact weights of one row and their error bounds, in units of the weights (which sum to 1).
// Index n is the sink: a key whose value is 0.
struct WeightErrors {
  Vector weights;                  // [n + 1], p
  double denominator = 1.0;        // sum of exp(score - largest), >= 1
  double largest = 0.0;            // score or sink
  double largest_magnitude = 0.0;  // of scores and sink
  std::int64_t rescalings = 0;
  double coherence = 1.0;  // number of equal scores

  Vector worst_case;                 // [n + 1]
  Vector systematic;                 // [n + 1], p c: one-directional and second-order errors
  Vector deviation;                  // [n + 1], p r, independent: to be multiplied by lambda
  double rescaling_deviation = 0.0;  // relative, the same for all keys before a rescaling
  Vector vanished;  // [n + 1], part of both bounds: flushed to zero by the exponential

  // Error of the weight exp(lse_k - lse) of a split's normalised part; 0 if states are merged.
  double split_error = 0.0;

  // The bounds for the sum of all weights, where the errors common to all keys do not cancel.
  double sum_worst_case = 0.0;
  double sum_probabilistic = 0.0;
};

WeightErrors weight_errors(const ScoreErrors& scores, const HeadOptions& options,
                           const KernelNumerics& numerics);

}  // namespace recto::reference
