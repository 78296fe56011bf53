#pragma once

// What a request's sequences are, by the dense model: one at a time, without a cache, each token
// from the whole text before it. And whether rounding could make any choice another one, judged
// from this run alone, before any kernel runs.

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
  // Deviations between what was chosen and what was not, at the closest choice.
  double closest = 0;

  bool is_decided() const { return closest > kFlowLambda; }
};

GeneratedText generate_densely(const DenseModel& model, const GenerationRequest& request);

}  // namespace recto::verify
