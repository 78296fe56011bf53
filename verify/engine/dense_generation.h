#pragma once

// Generates a request's sequences with the dense model: one at a time, without a cache, each token
// from the whole text before it. Also decides whether rounding could change any choice, from this
// run alone, before any kernel runs.

#include <vector>

#include "verify/engine/dense_model.h"
#include "verify/engine/token_choice.h"

namespace recto::verify {

// The logits that a token was chosen by.
struct LogitFlow {
  reference::Vector value;      // [vocabulary]
  reference::Vector deviation;  // [vocabulary]
};

struct GeneratedText {
  std::vector<std::vector<Token>> outputs;     // [width][output_tokens]
  std::vector<std::vector<LogitFlow>> logits;  // [width][output_tokens], of beams as they stood
  // The lead of the chosen over the rejected at the closest choice, in deviations.
  double closest = 0;

  bool is_decided() const { return closest > kFlowLambda; }
};

GeneratedText generate_densely(const DenseModel& model, const GenerationRequest& request);

}  // namespace recto::verify
