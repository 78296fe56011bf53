#pragma once

// The sizes of a small Llama-like model: RMSNorm, rotary embedding, grouped-query attention with or
// without norms of q and k, SwiGLU.

#include <cstdint>

#include "core/element_type.h"
#include "core/status.h"

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

  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

// Invalid input, "model: FIELD = VALUE; expected WHAT", for the first invalid field.
Status check_shape(const ModelShape& shape);

// What q, K and V are rounded to: q to `type`; K and V to `type` and then to the cache's type. In
// fp8, codes stand for multiples of the scales.
struct KvRounding {
  ElementType type = ElementType::kFp32;
  ElementType cache = ElementType::kFp32;
  float scale_k = 1.0F;
  float scale_v = 1.0F;
};

}  // namespace recto::verify
