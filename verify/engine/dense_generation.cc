#include "verify/engine/dense_generation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/contract.h"

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::Vector;

// The last hidden state of a text, with its errors.
struct Hidden {
  Vector value;
  Vector deviation;

  Hidden(const Flow& flow, std::int64_t row)
      : value(flow.value.row(row).transpose()), deviation(flow.deviation.row(row).transpose()) {}

  // The deviation of a linear combination of logits, given its weights on the hidden state.
  double of(const Vector& weights) const { return weights.cwiseProduct(deviation).norm(); }
};

LogitFlow logits_of(const Hidden& hidden, const Matrix& head) {
  return {head * hidden.value, (head.cwiseAbs2() * hidden.deviation.cwiseAbs2()).cwiseSqrt()};
}

// A gap without any error, as between a token and itself, counts as infinite, or 0 if it is 0.
double in_deviations(double gap, double deviation) {
  if (deviation == 0) return gap > 0 ? std::numeric_limits<double>::infinity() : 0;
  return gap / deviation;
}

// The number of deviations by which the chosen token leads the next one.
double lead_of(const GenerationRequest& request, const Vector& scores, Token chosen,
               const Hidden& hidden, const Matrix& head) {
  const double temperature = request.temperature == 0 ? 1 : request.temperature;
  double lead = std::numeric_limits<double>::infinity();
  for (Token other = 0; other < scores.size(); ++other) {
    if (other == chosen) continue;
    const Vector weights = (head.row(chosen) - head.row(other)).transpose() / temperature;
    lead = std::min(lead, in_deviations(scores[chosen] - scores[other], hidden.of(weights)));
  }
  return lead;
}

void sample(const DenseModel& model, const GenerationRequest& request, GeneratedText& text) {
  const Matrix& head = model.weights().head;
  const std::int64_t prompt = std::ssize(request.prompt);
  for (std::int32_t member = 0; member < request.width; ++member) {
    std::vector<Token> tokens = request.prompt;
    const auto chosen = [&](const Vector& hidden) {
      const std::int64_t output = std::ssize(tokens) - prompt;
      return best_token(token_scores(request, {.member = member, .output = output}, head * hidden));
    };
    for (std::int64_t output = 0; output < request.output_tokens; ++output) {
      const Flow flow = model.run(tokens, Following::kNo);
      tokens.push_back(chosen(flow.value.bottomRows(1).transpose()));
    }
    // Computes the errors of all positions at once, as rows do not see later ones.
    const Flow flow = model.run(tokens, Following::kYes);
    std::vector<LogitFlow>& logits = text.logits.emplace_back();
    for (std::int64_t output = 0; output < request.output_tokens; ++output) {
      const Hidden hidden(flow, prompt + output - 1);
      logits.push_back(logits_of(hidden, head));
      const Vector scores =
          token_scores(request, {.member = member, .output = output}, logits.back().value);
      const Token token = tokens[static_cast<std::size_t>(prompt + output)];
      RECTO_CHECK_EQ(best_token(scores), token);
      text.closest = std::min(text.closest, lead_of(request, scores, token, hidden, head));
    }
    text.outputs.emplace_back(tokens.begin() + prompt, tokens.end());
  }
}

struct Beam {
  std::vector<Token> tokens;  // with the prompt
  std::vector<LogitFlow> logits = {};
  double score = 0;
  double deviation = 0;  // of the score
};

// The deviation of a token's log-probability: of its logit less the mean of all, weighted by their
// probabilities.
double log_probability_deviation(const Hidden& hidden, const Vector& logits, Token token,
                                 const Matrix& head) {
  const Vector probabilities = log_probabilities(logits).array().exp().matrix();
  return hidden.of(head.row(token).transpose() - head.transpose() * probabilities);
}

std::vector<Beam> extend(const DenseModel& model, const std::vector<Beam>& beams,
                         std::int32_t width, double& closest) {
  const Matrix& head = model.weights().head;
  std::vector<Hidden> hidden;
  std::vector<LogitFlow> flows;
  std::vector<double> scores;
  std::vector<Vector> logits;
  for (const Beam& beam : beams) {
    const Flow flow = model.run(beam.tokens, Following::kYes);
    hidden.emplace_back(flow, flow.value.rows() - 1);
    flows.push_back(logits_of(hidden.back(), head));
    scores.push_back(beam.score);
    logits.push_back(flows.back().value);
  }
  const std::vector<BeamCandidate> candidates = beam_candidates(scores, logits);
  std::vector<Beam> next;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(width) + 1; ++rank) {
    const BeamCandidate& candidate = candidates[rank];
    const auto parent = static_cast<std::size_t>(candidate.parent);
    Beam beam = beams[parent];
    // The errors at a beam's positions are not treated as independent: they read the same K and V.
    beam.deviation +=
        log_probability_deviation(hidden[parent], logits[parent], candidate.token, head);
    if (rank > 0) {
      const double gap = candidates[rank - 1].score - candidate.score;
      closest = std::min(closest, in_deviations(gap, next.back().deviation + beam.deviation));
    }
    beam.tokens.push_back(candidate.token);
    beam.logits.push_back(flows[parent]);
    beam.score = candidate.score;
    next.push_back(std::move(beam));
  }
  next.pop_back();  // the best candidate that is not taken
  return next;
}

}  // namespace

GeneratedText generate_densely(const DenseModel& model, const GenerationRequest& request) {
  GeneratedText text;
  text.closest = std::numeric_limits<double>::infinity();
  if (request.decoding != sim::Decoding::kBeam) {
    sample(model, request, text);
    return text;
  }
  RECTO_CHECK_LT(request.width, model.weights().shape.vocabulary);
  std::vector<Beam> beams = {Beam{.tokens = request.prompt}};
  for (std::int64_t output = 0; output < request.output_tokens; ++output) {
    beams = extend(model, beams, request.width, text.closest);
  }
  const std::int64_t prompt = std::ssize(request.prompt);
  for (const Beam& beam : beams) {
    text.outputs.emplace_back(beam.tokens.begin() + prompt, beam.tokens.end());
    text.logits.push_back(beam.logits);
  }
  return text;
}

}  // namespace recto::verify
