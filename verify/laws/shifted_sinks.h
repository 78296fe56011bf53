#pragma once

// Sinks that follow a shift of all scores: exp(sink) must grow with the sum of the others. The
// shifted sink is fp32 again; by how much it misses, and what that does, is part of the bound.

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

// What a side must give whose scores and sinks are shifted: base's out, and base's lse + shift.
struct ShiftedExpectation {
  reference::AttentionResult expected;
  reference::AttentionResult bound;
};

// `bound` is the sum of both sides'; the residuals widen it. A residual r moves lse by r at most,
// and the denominator, hence out, by a factor of exp(r).
ShiftedExpectation expect_shifted(const reference::AttentionResult& base,
                                  reference::AttentionResult bound,
                                  const std::vector<double>& shifts,
                                  const std::vector<double>& residual);

}  // namespace recto::verify
