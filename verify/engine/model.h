#pragma once

// A small Llama-like model: RMSNorm, rotary embedding, grouped-query attention with or without
// norms of q and k, SwiGLU. This header has its sizes, number formats and weights.

#include <cstdint>
#include <vector>

#include "core/element_type.h"
#include "core/status.h"
#include "reference/dense_attention.h"

namespace recto::verify {

struct ModelShape {
  std::int64_t vocabulary = 16;
  std::int64_t hidden = 48;
  std::int64_t layers = 2;
  std::int64_t num_q_heads = 2;
  std::int64_t num_kv_heads = 1;
  std::int64_t head_dim = 64;
  std::int64_t ffn = 64;
  double rotary_base = 10000.0;
  double norm_epsilon = 1e-5;
  bool has_qk_norm = false;

  std::int64_t q_size() const { return num_q_heads * head_dim; }
  std::int64_t kv_size() const { return num_kv_heads * head_dim; }
  float attention_scale() const;  // 1 / sqrt(head_dim)
};

// Invalid input, "model: FIELD = VALUE; expected WHAT", for the first invalid field.
Status check_shape(const ModelShape& shape);

// The formats to which q, K and V are rounded: q to `type`; K and V to `type`, then to the cache's
// type. In fp8, codes stand for multiples of the scales.
struct KvRounding {
  ElementType type = ElementType::kFp32;
  ElementType cache = ElementType::kFp32;
  float scale_k = 1.0F;
  float scale_v = 1.0F;
};

// Matrices are [outputs, inputs], as in model files. Values are representable in fp32.
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
  // Standard deviation of what attention adds to the residual stream, whose own deviation is 1. The
  // larger it is, the more tokens attention decides, and the more tokens its rounding may change.
  double attention_share = 0.3;
};

// Weights with which attention mixes many values. The shape must pass check_shape.
ModelWeights drawn_weights(const ModelShape& shape, const WeightDraw& draw);

}  // namespace recto::verify
