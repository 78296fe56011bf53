#pragma once

// The weights of the model. Values are representable in fp32, but kept in fp64.

#include <cstdint>
#include <vector>

#include "core/random_stream.h"
#include "reference/dense_attention.h"
#include "verify/engine/model_shape.h"

namespace recto::verify {

// Matrices are [outputs, inputs], as in model files.
struct LayerWeights {
  reference::Vector attention_norm;  // [hidden]
  reference::Matrix q;               // [q_size, hidden]
  reference::Matrix k;               // [kv_size, hidden]
  reference::Matrix v;               // [kv_size, hidden]
  reference::Vector q_norm;          // [head_dim], or empty
  reference::Vector k_norm;          // [head_dim], or empty
  reference::Matrix o;               // [hidden, q_size]
  reference::Vector ffn_norm;        // [hidden]
  reference::Matrix gate;            // [ffn, hidden]
  reference::Matrix up;              // [ffn, hidden]
  reference::Matrix down;            // [hidden, ffn]
};

struct ModelWeights {
  ModelShape shape;
  reference::Matrix embedding;  // [vocabulary, hidden]
  std::vector<LayerWeights> layers;
  reference::Vector final_norm;  // [hidden]
  reference::Matrix head;        // [vocabulary, hidden]
};

struct WeightDraw {
  std::uint64_t seed = 0;
  // Standard deviations of scores, and of what attention and feed-forward add to the residual
  // stream, whose own is 1. Sharp attention sees single keys; if its output is added in full, it
  // decides tokens, and so does its rounding.
  double score_spread = 2.0;
  double attention_share = 0.3;
  double ffn_share = 0.3;
  double logit_spread = 4.0;
};

// The shape must pass check_shape.
ModelWeights drawn_weights(const ModelShape& shape, const WeightDraw& draw);

// Gains of a norm, within +-25 % of `mean`, so that a gain that is left out or applied twice shows.
reference::Vector drawn_gains(RandomStream stream, std::int64_t size, double mean);

}  // namespace recto::verify
