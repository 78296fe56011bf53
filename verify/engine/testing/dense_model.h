#pragma once

// The model by its definition, the reference of the law: a whole text at once, dense, in fp64, with
// Eigen. K and V are rounded as the cache stores them, q as the kernels receive it. It uses nothing
// from cuda/.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "reference/numerics.h"
#include "verify/engine/model.h"
#include "verify/engine/testing/rounding_flow.h"
#include "verify/engine/token_choice.h"

namespace recto::verify {

class DenseModel {
 public:
  // `weights` must outlive the model. Each row of attention may be computed by any of `kernels`.
  DenseModel(const ModelWeights& weights, const KvRounding& rounding,
             std::vector<reference::KernelNumerics> kernels);

  // The output of the final norm for each token: [tokens, hidden]. kYes also computes errors.
  Flow run(std::span<const Token> tokens, Following following) const;

  const ModelWeights& weights() const { return weights_; }

 private:
  Flow attend(const Flow& x, const LayerWeights& layer) const;
  Flow into_cache(const Flow& x, float scale) const;

  const ModelWeights& weights_;
  const KvRounding rounding_;
  const std::vector<reference::KernelNumerics> kernels_;
};

struct GeneratedText {
  std::vector<std::vector<Token>> outputs;  // [width][output_tokens]
  // [width][output_tokens]: the logits from which each token was chosen, [1, vocabulary]; for
  // beams, along the path of the beam.
  std::vector<std::vector<Flow>> logits;
  // The smallest lead of a chosen over a rejected candidate, in deviations.
  double closest = std::numeric_limits<double>::infinity();

  // Whether rounding could not change any choice.
  bool is_decided() const { return closest > kFlowLambda; }
};

// Generates a request's sequences one at a time and without a cache: each token from the whole text
// before it.
GeneratedText generate_densely(const DenseModel& model, const GenerationRequest& request);

}  // namespace recto::verify
