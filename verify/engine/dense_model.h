#pragma once

// The model by its definition: a whole text at once, dense, in fp64, with Eigen. K and V are
// rounded as the cache stores them, q as the kernels receive it. It uses nothing from cuda/.

#include <cstdint>
#include <span>
#include <vector>

#include "reference/numerics.h"
#include "verify/engine/model_weights.h"
#include "verify/engine/rounding_flow.h"

namespace recto::verify {

class DenseModel {
 public:
  // `weights` must outlive the model. Any of `kernels` may compute a row of attention.
  DenseModel(const ModelWeights& weights, const KvRounding& rounding,
             std::vector<reference::KernelNumerics> kernels);

  // The output of the final norm for each token: [tokens, hidden]; with errors, if they are
  // followed.
  Flow run(std::span<const std::int32_t> tokens, Following following) const;

  const ModelWeights& weights() const { return weights_; }

 private:
  Flow attend(const Flow& x, const LayerWeights& layer) const;

  const ModelWeights& weights_;
  const KvRounding rounding_;
  const std::vector<reference::KernelNumerics> kernels_;
};

}  // namespace recto::verify
