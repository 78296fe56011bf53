#include "verify/engine/testing/dense_model.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/contract.h"

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::Vector;

Flow row_of(const Flow& flow, std::int64_t row) {
  return {flow.value.row(row), flow.deviation.row(row)};
}

// The deviation of a linear combination of a row's numbers.
double deviation_of(const Flow& row, const Vector& weights) {
  return row.deviation.transpose().cwiseProduct(weights).norm();
}

// Without an error (as between a token and itself) the result is infinite, or 0 for a gap of 0.
double in_deviations(double gap, double deviation) {
  if (deviation == 0) return gap > 0 ? std::numeric_limits<double>::infinity() : 0;
  return gap / deviation;
}

// The number of deviations by which the chosen token leads the next one.
double lead_of(const GenerationRequest& request, const Vector& scores, Token chosen,
               const Flow& hidden, const Matrix& head) {
  const double temperature = request.temperature == 0 ? 1 : request.temperature;
  double lead = std::numeric_limits<double>::infinity();
  for (Token other = 0; other < scores.size(); ++other) {
    if (other == chosen) continue;
    const Vector weights = (head.row(chosen) - head.row(other)).transpose() / temperature;
    lead = std::min(lead,
                    in_deviations(scores[chosen] - scores[other], deviation_of(hidden, weights)));
  }
  return lead;
}

void sample(const DenseModel& model, const GenerationRequest& request, GeneratedText& text) {
  const Matrix& head = model.weights().head;
  const std::int64_t prompt = std::ssize(request.prompt);
  for (std::int32_t member = 0; member < request.width; ++member) {
    std::vector<Token> tokens = request.prompt;
    for (std::int64_t output = 0; output < request.output_tokens; ++output) {
      const Matrix hidden = model.run(tokens, Following::kNo).value.bottomRows(1);
      tokens.push_back(
          best_token(token_scores(request, member, output, head * hidden.transpose())));
    }
    // Computes the errors of all positions at once, as rows do not see later ones.
    const Flow all_hidden = model.run(tokens, Following::kYes);
    std::vector<Flow>& logits = text.logits.emplace_back();
    for (std::int64_t output = 0; output < request.output_tokens; ++output) {
      const Flow hidden = row_of(all_hidden, prompt + output - 1);
      logits.push_back(linear(hidden, head));
      const Vector scores = token_scores(request, member, output, logits.back().value.transpose());
      const Token token = tokens[static_cast<std::size_t>(prompt + output)];
      RECTO_CHECK_EQ(best_token(scores), token);
      text.closest = std::min(text.closest, lead_of(request, scores, token, hidden, head));
    }
    text.outputs.emplace_back(tokens.begin() + prompt, tokens.end());
  }
}

struct Beam {
  std::vector<Token> tokens;  // prompt and output
  std::vector<Flow> logits = {};
  double score = 0;
  double deviation = 0;  // of the score
};

// The deviation of a token's log-probability, that is, of its logit minus the mean of all logits,
// weighted by their probabilities.
double log_probability_deviation(const Flow& hidden, const Vector& logits, Token token,
                                 const Matrix& head) {
  const Vector probabilities = log_probabilities(logits).array().exp().matrix();
  return deviation_of(hidden, head.row(token).transpose() - head.transpose() * probabilities);
}

std::vector<Beam> extend(const DenseModel& model, const std::vector<Beam>& beams,
                         std::int32_t width, double& closest) {
  const Matrix& head = model.weights().head;
  std::vector<Flow> hidden;
  std::vector<double> scores;
  std::vector<Vector> logits;
  for (const Beam& beam : beams) {
    const Flow flow = model.run(beam.tokens, Following::kYes);
    hidden.push_back(row_of(flow, flow.value.rows() - 1));
    scores.push_back(beam.score);
    logits.emplace_back(linear(hidden.back(), head).value.transpose());
  }
  const std::vector<BeamCandidate> candidates = beam_candidates(scores, logits);
  std::vector<Beam> next;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(width) + 1; ++rank) {
    const BeamCandidate& candidate = candidates[rank];
    const auto parent = static_cast<std::size_t>(candidate.parent);
    Beam beam = beams[parent];
    // Adds deviations, not variances: a beam's errors depend on the same K and V.
    beam.deviation +=
        log_probability_deviation(hidden[parent], logits[parent], candidate.token, head);
    if (rank > 0) {
      const double gap = candidates[rank - 1].score - candidate.score;
      closest = std::min(closest, in_deviations(gap, next.back().deviation + beam.deviation));
    }
    beam.tokens.push_back(candidate.token);
    beam.logits.push_back(linear(hidden[parent], head));
    beam.score = candidate.score;
    next.push_back(std::move(beam));
  }
  next.pop_back();  // the best candidate that is not taken
  return next;
}

}  // namespace

DenseModel::DenseModel(const ModelWeights& weights, const KvRounding& rounding,
                       std::vector<reference::KernelNumerics> kernels)
    : weights_(weights), rounding_(rounding), kernels_(std::move(kernels)) {}

Flow DenseModel::into_cache(const Flow& x, float scale) const {
  const Flow row = store(x, rounding_.type);
  return is_fp8(rounding_.cache) ? store(row, rounding_.cache, scale) : row;
}

Flow DenseModel::attend(const Flow& x, const LayerWeights& layer) const {
  const ModelShape& shape = weights_.shape;
  Flow q = linear(x, layer.q);
  Flow k = linear(x, layer.k);
  if (shape.has_qk_norm) {
    q = rms_norm(q, layer.q_norm, shape.norm_epsilon);
    k = rms_norm(k, layer.k_norm, shape.norm_epsilon);
  }
  q = store(rotate_heads(q, shape.head_dim, shape.rotary_base), rounding_.type);
  k = into_cache(rotate_heads(k, shape.head_dim, shape.rotary_base), rounding_.scale_k);
  const Flow v = into_cache(linear(x, layer.v), rounding_.scale_v);
  return linear(attention_flow({q, k, v}, shape, kernels_), layer.o);
}

Flow DenseModel::run(std::span<const Token> tokens, Following following) const {
  const ModelShape& shape = weights_.shape;
  Matrix embedded(std::ssize(tokens), shape.hidden);
  for (std::int64_t row = 0; row < embedded.rows(); ++row) {
    const Token token = tokens[static_cast<std::size_t>(row)];
    RECTO_CHECK(token >= 0 && token < shape.vocabulary);
    embedded.row(row) = weights_.embedding.row(token);
  }
  Flow x = exact_flow(std::move(embedded), following);
  for (const LayerWeights& layer : weights_.layers) {
    x = add(x, attend(rms_norm(x, layer.attention_norm, shape.norm_epsilon), layer));
    const Flow normed = rms_norm(x, layer.ffn_norm, shape.norm_epsilon);
    x = add(x, linear(swiglu(linear(normed, layer.gate), linear(normed, layer.up)), layer.down));
  }
  return rms_norm(x, weights_.final_norm, shape.norm_epsilon);
}

GeneratedText generate_densely(const DenseModel& model, const GenerationRequest& request) {
  GeneratedText text;
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
