#include "verify/engine/model.h"

#include <cmath>

#include "core/contract.h"
#include "core/random_stream.h"

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::Vector;

// Standard deviations of attention scores (large enough for single keys to matter), of what
// feed-forward adds to the residual stream, and of logits.
constexpr double kScoreSpread = 2.0;
constexpr double kFfnShare = 0.3;
constexpr double kLogitSpread = 4.0;

// A uniform number with this standard deviation, rounded to fp32.
double draw_value(RandomStream& stream, double deviation) {
  const double uniform = 2 * stream.next_unit() - 1;
  return static_cast<float>(uniform * std::sqrt(3.0) * deviation);
}

Matrix draw_matrix(RandomStream stream, std::int64_t rows, std::int64_t cols, double deviation) {
  Matrix matrix(rows, cols);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t col = 0; col < cols; ++col) matrix(row, col) = draw_value(stream, deviation);
  }
  return matrix;
}

// Gains of a norm within +-25 % of `mean`, so that omitting a gain or applying it twice changes
// results.
Vector draw_gains(RandomStream stream, std::int64_t size, double mean) {
  Vector gains(size);
  for (std::int64_t i = 0; i < size; ++i) {
    gains[i] = static_cast<float>(mean * (0.75 + 0.5 * stream.next_unit()));
  }
  return gains;
}

LayerWeights draw_layer(const ModelShape& shape, const WeightDraw& draw,
                        const RandomStream& stream) {
  const double per_input = 1 / std::sqrt(static_cast<double>(shape.hidden));
  // q and k contribute equal parts to the spread of q.k / sqrt(head_dim).
  const double gain = std::sqrt(kScoreSpread);
  LayerWeights layer;
  layer.attention_norm = draw_gains(stream.split("attention norm"), shape.hidden, 1);
  layer.q = draw_matrix(stream.split("q"), shape.q_size(), shape.hidden, gain * per_input);
  layer.k = draw_matrix(stream.split("k"), shape.kv_size(), shape.hidden, gain * per_input);
  layer.v = draw_matrix(stream.split("v"), shape.kv_size(), shape.hidden, per_input);
  if (shape.has_qk_norm) {
    layer.q_norm = draw_gains(stream.split("q norm"), shape.head_dim, gain);
    layer.k_norm = draw_gains(stream.split("k norm"), shape.head_dim, gain);
  }
  layer.o = draw_matrix(stream.split("o"), shape.hidden, shape.q_size(),
                        draw.attention_share / std::sqrt(static_cast<double>(shape.q_size())));
  layer.ffn_norm = draw_gains(stream.split("ffn norm"), shape.hidden, 1);
  layer.gate = draw_matrix(stream.split("gate"), shape.ffn, shape.hidden, per_input);
  layer.up = draw_matrix(stream.split("up"), shape.ffn, shape.hidden, per_input);
  // silu(a) u of unit normals has a standard deviation of about 0.6.
  layer.down = draw_matrix(stream.split("down"), shape.hidden, shape.ffn,
                           kFfnShare / (0.6 * std::sqrt(static_cast<double>(shape.ffn))));
  return layer;
}

}  // namespace

float ModelShape::attention_scale() const {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)));
}

ModelWeights drawn_weights(const ModelShape& shape, const WeightDraw& draw) {
  RECTO_CHECK_EQ(check_shape(shape), Status::ok());
  const RandomStream stream = RandomStream(draw.seed).split("model weights");
  ModelWeights weights;
  weights.shape = shape;
  weights.embedding = draw_matrix(stream.split("embedding"), shape.vocabulary, shape.hidden, 1);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    weights.layers.push_back(
        draw_layer(shape, draw, stream.split("layer").split(static_cast<std::uint64_t>(layer))));
  }
  weights.final_norm = draw_gains(stream.split("final norm"), shape.hidden, 1);
  weights.head = draw_matrix(stream.split("head"), shape.vocabulary, shape.hidden,
                             kLogitSpread / std::sqrt(static_cast<double>(shape.hidden)));
  return weights;
}

}  // namespace recto::verify
