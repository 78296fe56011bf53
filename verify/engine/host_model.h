#pragma once

// The engine's own computation of the model, without attention: rows of tokens at any positions, in
// fp64 and plain loops. It shares no formula with the dense run.

#include <cstdint>
#include <span>
#include <vector>

#include "verify/engine/model.h"
#include "verify/engine/token_choice.h"

namespace recto::verify {

// The inputs of a layer's attention.
struct ProjectedRows {
  reference::Matrix q;  // [rows, q_size], normed and rotated
  reference::Matrix k;  // [rows, kv_size], normed and rotated
  reference::Matrix v;  // [rows, kv_size]
};

class HostModel {
 public:
  // `weights` must outlive the model.
  explicit HostModel(const ModelWeights& weights) : weights_(weights) {}

  reference::Matrix embed(std::span<const Token> tokens) const;  // [rows, hidden]
  // Row r is at position positions[r].
  ProjectedRows project(std::int64_t layer, const reference::Matrix& x,
                        std::span<const std::int64_t> positions) const;
  // Adds the output of attention to the residual stream, then applies the feed-forward part.
  void finish_layer(std::int64_t layer, const reference::Matrix& attention,
                    reference::Matrix& x) const;
  reference::Vector logits(const reference::Matrix& x, std::int64_t row) const;  // [vocabulary]

 private:
  const LayerWeights& layer(std::int64_t index) const {
    return weights_.layers[static_cast<std::size_t>(index)];
  }

  const ModelWeights& weights_;
};

}  // namespace recto::verify
