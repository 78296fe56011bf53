#include "verify/engine/dense_model.h"

#include <cmath>
#include <utility>

#include "core/contract.h"
#include "reference/rounding.h"
#include "verify/engine/attention_flow.h"

namespace recto::verify {
namespace {

using reference::Matrix;

// A number's neighbours are at most 2 u away, relative to it or to the smallest normal number.
double step_of(double value, ElementType type) {
  return 2 * reference::unit_roundoff(type) * std::abs(value) +
         2 * reference::underflow_error(type);
}

Store type_store(ElementType type) {
  return {.round = [type](double value) { return reference::round_to(value, type); },
          .step = [type](double value) { return step_of(value, type); }};
}

// Storing a number in an fp8 cache.
Store fp8_store(ElementType cache, float scale) {
  return {.round =
              [cache, scale](double value) {
                const std::uint32_t code =
                    reference::encode_fp8(static_cast<float>(value), scale, cache);
                return reference::decode(code, cache) * scale;
              },
          .step = [cache, scale](double value) { return scale * step_of(value / scale, cache); }};
}

Flow into_cache(const Flow& x, const KvRounding& rounding, float scale) {
  const Flow row = store(x, type_store(rounding.type));
  return is_fp8(rounding.cache) ? store(row, fp8_store(rounding.cache, scale)) : row;
}

}  // namespace

DenseModel::DenseModel(const ModelWeights& weights, const KvRounding& rounding,
                       std::vector<reference::KernelNumerics> kernels)
    : weights_(weights), rounding_(rounding), kernels_(std::move(kernels)) {}

Flow DenseModel::attend(const Flow& x, const LayerWeights& layer) const {
  const ModelShape& shape = weights_.shape;
  Flow q = linear(x, layer.q);
  Flow k = linear(x, layer.k);
  if (shape.has_qk_norm) {
    q = rms_norm(q, layer.q_norm, shape.norm_epsilon);
    k = rms_norm(k, layer.k_norm, shape.norm_epsilon);
  }
  q = store(rotate_heads(q, shape.head_dim, shape.rotary_base), type_store(rounding_.type));
  k = into_cache(rotate_heads(k, shape.head_dim, shape.rotary_base), rounding_, rounding_.scale_k);
  const Flow v = into_cache(linear(x, layer.v), rounding_, rounding_.scale_v);
  return linear(attention_flow({q, k, v}, shape, kernels_), layer.o);
}

Flow DenseModel::run(std::span<const std::int32_t> tokens, Following following) const {
  const ModelShape& shape = weights_.shape;
  Matrix embedded(std::ssize(tokens), shape.hidden);
  for (std::int64_t row = 0; row < embedded.rows(); ++row) {
    const std::int32_t token = tokens[static_cast<std::size_t>(row)];
    RECTO_CHECK(token >= 0 && token < shape.vocabulary);
    embedded.row(row) = weights_.embedding.row(token);
  }
  Flow x = exact_flow(std::move(embedded), following);
  for (const LayerWeights& layer : weights_.layers) {
    x = add(x, attend(rms_norm(x, layer.attention_norm, shape.norm_epsilon), layer));
    const Flow normed = rms_norm(x, layer.ffn_norm, shape.norm_epsilon);
    x = add(x, linear(swiglu(linear(normed, layer.gate), linear(normed, layer.up)), layer.down));
  }
  return rms_norm(x, weights_.final_norm, shape.norm_epsilon);
}

}  // namespace recto::verify
