#pragma once

// The model as it is defined: a whole text at once, dense, in fp64, on Eigen. K and V are rounded
// as the cache stores them, q as it is handed over. Nothing of cuda/ is in it.

#include <cstdint>
#include <span>
#include <vector>

#include "reference/numerics.h"
#include "verify/engine/model_weights.h"
#include "verify/engine/rounding_flow.h"

namespace recto::verify {

class DenseModel {
 public:
  // `weights` outlive it. `kernels` may compute a row of attention.
  DenseModel(const ModelWeights& weights, const KvRounding& rounding,
             std::vector<reference::KernelNumerics> kernels);

  // What the final norm makes of each token: [tokens, hidden]. With errors, if they are followed.
  Flow run(std::span<const std::int32_t> tokens, Following following) const;

  const ModelWeights& weights() const { return weights_; }

 private:
  Flow attend(const Flow& x, const LayerWeights& layer) const;

  const ModelWeights& weights_;
  const KvRounding rounding_;
  const std::vector<reference::KernelNumerics> kernels_;
};

}  // namespace recto::verify
