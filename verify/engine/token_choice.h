#pragma once

// Chooses the next token from logits. The dense run and the engine both use it.

#include <cstdint>
#include <vector>

#include "reference/dense_attention.h"
#include "sim/request.h"

namespace recto::verify {

using Token = std::int32_t;

// A prompt, and what to generate from it.
struct GenerationRequest {
  std::int64_t arrival_step = 0;
  std::vector<Token> prompt;
  std::int64_t output_tokens = 1;  // of each sequence
  sim::Decoding decoding = sim::Decoding::kSingle;
  std::int32_t width = 1;  // sequences
  double temperature = 0;  // 0: greedy; beams must have 0
  std::uint64_t seed = 0;
};

// The scores from which output number `output` of sequence `member` is chosen: logits, divided by
// the temperature, plus Gumbel noise. The largest score is then a sample. The noise depends only on
// the seed, the member and the output.
reference::Vector token_scores(const GenerationRequest& request, std::int32_t member,
                               std::int64_t output, const reference::Vector& logits);

// The token with the largest score; the first among equals.
Token best_token(const reference::Vector& scores);

reference::Vector log_probabilities(const reference::Vector& logits);

// A beam of one step, continued with one token.
struct BeamCandidate {
  std::int32_t parent = 0;
  Token token = 0;
  double score = 0;  // cumulative
};

// All continuations of beams with these cumulative scores, best first. Ties: the earlier beam, then
// the smaller token.
std::vector<BeamCandidate> beam_candidates(const std::vector<double>& scores,
                                           const std::vector<reference::Vector>& logits);

}  // namespace recto::verify
