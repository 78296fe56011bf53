#include "verify/engine/token_choice.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"
#include "core/random_stream.h"

namespace recto::verify {

using reference::Vector;

Vector token_scores(const GenerationRequest& request, std::int32_t member, std::int64_t output,
                    const Vector& logits) {
  if (request.temperature == 0) return logits;
  RandomStream noise = RandomStream(request.seed)
                           .split("gumbel")
                           .split(static_cast<std::uint64_t>(member))
                           .split(static_cast<std::uint64_t>(output));
  Vector scores = logits / request.temperature;
  for (std::int64_t token = 0; token < scores.size(); ++token) {
    // In (0, 1): half a step above the stream's multiples of 2^-53.
    const double uniform = noise.next_unit() + 0x1p-54;
    scores[token] -= std::log(-std::log(uniform));
  }
  return scores;
}

Token best_token(const Vector& scores) {
  Token best = 0;
  for (Token token = 1; token < scores.size(); ++token) {
    if (scores[token] > scores[best]) best = token;
  }
  return best;
}

Vector log_probabilities(const Vector& logits) {
  const double largest = logits.maxCoeff();
  const double sum = (logits.array() - largest).exp().sum();
  return (logits.array() - largest - std::log(sum)).matrix();
}

std::vector<BeamCandidate> beam_candidates(const std::vector<double>& scores,
                                           const std::vector<Vector>& logits) {
  RECTO_CHECK_EQ(scores.size(), logits.size());
  std::vector<BeamCandidate> candidates;
  for (std::size_t beam = 0; beam < scores.size(); ++beam) {
    const Vector added = log_probabilities(logits[beam]);
    for (Token token = 0; token < added.size(); ++token) {
      candidates.push_back({.parent = static_cast<std::int32_t>(beam),
                            .token = token,
                            .score = scores[beam] + added[token]});
    }
  }
  std::ranges::stable_sort(
      candidates, [](const BeamCandidate& a, const BeamCandidate& b) { return a.score > b.score; });
  return candidates;
}

}  // namespace recto::verify
