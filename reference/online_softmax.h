#pragma once

// Softmax without seeing all scores at once: partial states (m, l, o) of disjoint sets of keys,
// which can be merged in any order (Milakov & Gimelshein 2018, arXiv 1805.02867).

#include <cstdint>
#include <limits>
#include <optional>

#include "reference/dense_attention.h"

namespace recto::reference {

// The state of one query row after some of its keys. It does not include the sink.
struct SoftmaxState {
  double maximum = -std::numeric_limits<double>::infinity();  // m: largest score
  double sum = 0.0;                                           // l: sum of exp(score - m)
  Vector weighted;  // o: sum of exp(score - m) v, not normalised; [head_dim_v]

  static SoftmaxState identity(std::int64_t head_dim_v);
};

// Commutative, with identity() as its neutral element, both bit for bit; associative within the
// error bound.
SoftmaxState merge(const SoftmaxState& a, const SoftmaxState& b);

// The state of a tile of keys: scores [n], values [n, head_dim_v].
SoftmaxState tile_state(const Vector& scores, const Eigen::Ref<const Matrix>& values);

struct RowOutput {
  Vector out;  // [head_dim_v]
  double lse_ln = 0.0;
};

// Adds the sink, once, and divides by the sum.
RowOutput finish(const SoftmaxState& state, std::optional<double> sink);

// dense_attention, streaming over tiles of `tile_size` keys.
HeadOutput online_attention(const HeadInputs& inputs, const HeadOptions& options,
                            std::int64_t tile_size);

}  // namespace recto::reference
