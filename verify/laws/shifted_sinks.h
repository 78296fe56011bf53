#pragma once

// Sinks adjusted for a shift of all scores: exp(sink) must grow with the sum of the others. The
// shifted sink is rounded to fp32; the rounding error and its effect are part of the bound.

#include <cstdint>
#include <vector>

#include "verify/laws/law_trial.h"

namespace recto::verify {

struct ShiftedSinks {
  std::vector<float> sinks;      // [num_q_heads], or empty
  std::vector<double> residual;  // [num_q_heads]: largest |shifted sink - (sink + shift)|
};

// `shifts` [num_q_heads] in fp64; finite.
ShiftedSinks shift_sinks(const std::vector<float>& sinks, const std::vector<double>& shifts);

// The expected result after scores and sinks are shifted: base's out, and base's lse + shift.
struct ShiftedExpectation {
  reference::AttentionResult expected;
  reference::AttentionResult bound;
};

// `bound` is the sum of both sides' bounds; the residuals widen it. A residual r changes lse by at
// most r, and the denominator, hence out, by at most a factor of exp(r).
ShiftedExpectation expect_shifted(const reference::AttentionResult& base,
                                  reference::AttentionResult bound,
                                  const std::vector<double>& shifts,
                                  const std::vector<double>& residual);

}  // namespace recto::verify
