#include "cuda/bench/batch_shape.h"

#include <algorithm>

namespace recto::bench {
namespace {

constexpr std::int64_t kSkewedLengths = 8;
constexpr std::int64_t kTurningBytes = std::int64_t{2} << 30;

}  // namespace

std::int64_t BatchShape::length_of(std::int64_t sequence) const {
  if (lengths == Lengths::kEqual) return context_length;
  return std::max<std::int64_t>(1, context_length >> sequence % kSkewedLengths);
}

std::int64_t BatchShape::blocks_of(std::int64_t sequence) const {
  return (length_of(sequence) + slots_per_block() - 1) / slots_per_block();
}

std::int64_t BatchShape::num_tokens() const {
  std::int64_t sum = 0;
  for (std::int64_t s = 0; s < num_seqs; ++s) sum += length_of(s);
  return sum;
}

std::int64_t BatchShape::num_blocks() const {
  std::int64_t sum = 0;
  for (std::int64_t s = 0; s < num_seqs; ++s) sum += blocks_of(s);
  return sum;
}

std::int64_t BatchShape::token_bytes() const {
  return num_kv_heads * head_dim * element_bytes(kv_type);
}

std::int64_t BatchShape::new_token_bytes() const {
  return num_kv_heads * head_dim * element_bytes(q_type);
}

std::int64_t BatchShape::tensor_bytes() const {
  return num_blocks() * slots_per_block() * token_bytes();
}

std::int64_t BatchShape::row_bytes() const {
  return num_rows() * num_q_heads() * head_dim * element_bytes(q_type);
}

std::int64_t BatchShape::allocated_bytes() const {
  const std::int64_t lse_ln_bytes = 4 * num_rows() * num_q_heads();
  const std::int64_t table_bytes = 4 * num_seqs * max_blocks();
  return 2 * (tensor_bytes() + row_bytes()) + lse_ln_bytes + table_bytes;
}

std::int64_t turning_batches(const BatchShape& shape, std::int64_t most) {
  return std::clamp<std::int64_t>(kTurningBytes / shape.allocated_bytes(), 1, most);
}

}  // namespace recto::bench
