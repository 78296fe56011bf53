#include "reference/low_precision_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/contract.h"
#include "reference/fp32_state.h"
#include "reference/kv_cache_reader.h"
#include "reference/rounding.h"
#include "reference/truncated_sum.h"

namespace recto::reference {
namespace {

using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Floats = std::vector<float>;

struct HeadTensors {
  FloatMatrix q;  // [m, head_dim_k]
  FloatMatrix k;  // [n, head_dim_k]
  FloatMatrix v;  // [n, head_dim_v]
};

// One query head of one sequence. `weight_type` is what P is rounded to; fp32: not at all.
class HeadRun {
 public:
  HeadRun(const HeadTensors& tensors, const HeadOptions& options, const LowPrecisionOptions& how,
          ElementType weight_type)
      : q_(tensors.q),
        k_(tensors.k),
        v_(tensors.v),
        scale_(static_cast<float>(options.scale)),
        softcap_(static_cast<float>(options.softcap)),
        alibi_slope_(static_cast<float>(options.alibi_slope)),
        sink_(static_cast<float>(options.sink.value_or(-std::numeric_limits<double>::infinity()))),
        how_(how),
        weight_type_(weight_type) {}

  // Writes head_dim_v values and returns lse.
  float attend(std::int64_t row, KeyRange seen, std::span<float> out) const {
    std::vector<Fp32State> parts;
    const std::int64_t split =
        how_.split_size > 0 ? how_.split_size : std::max<std::int64_t>(seen.size(), 1);
    for (std::int64_t first = seen.begin; first < seen.end; first += split) {
      parts.push_back(pass(row, {first, std::min(first + split, seen.end)}));
    }
    if (std::isfinite(sink_))
      parts.push_back(Fp32State::of_sink(v_.cols(), in_base(sink_), how_.base));
    return how_.split_merge == SplitMerge::kState ? finish(merged(parts), out)
                                                  : combine_normalised(parts, out);
  }

 private:
  float score(std::int64_t row, std::int64_t key) const {
    float score = dot(row, key) * scale_;
    if (softcap_ > 0) score = softcap_ * std::tanh(score / softcap_);
    if (alibi_slope_ != 0) {
      score += alibi_slope_ * static_cast<float>(key - position_of(row, q_.rows(), k_.rows()));
    }
    return score;
  }

  float in_base(float score) const {
    return how_.base == ExponentialBase::kE ? score : score * kLog2E;
  }

  Fp32State merged(const std::vector<Fp32State>& parts) const {
    Fp32State whole(v_.cols(), how_.base);
    for (const Fp32State& part : parts) merge_into(whole, part);
    return whole;
  }

  float dot(std::int64_t row, std::int64_t key) const {
    float sum = 0.0F;
    if (how_.rounding == AccumulatorRounding::kNearest) {
      for (std::int64_t dim = 0; dim < k_.cols(); ++dim) sum += q_(row, dim) * k_(key, dim);
      return sum;
    }
    std::vector<double> products(static_cast<std::size_t>(how_.terms_per_step));
    for (std::int64_t first = 0; first < k_.cols(); first += how_.terms_per_step) {
      const std::int64_t count = std::min(how_.terms_per_step, k_.cols() - first);
      for (std::int64_t dim = 0; dim < count; ++dim) {
        products[static_cast<std::size_t>(dim)] =
            static_cast<double>(q_(row, first + dim)) * k_(key, first + dim);
      }
      sum = truncated_sum(sum, {products.data(), static_cast<std::size_t>(count)});
    }
    return sum;
  }

  // All tiles of one split.
  Fp32State pass(std::int64_t row, KeyRange keys) const {
    Fp32State state(v_.cols(), how_.base);
    Floats weights;
    for (std::int64_t first = keys.begin; first < keys.end; first += how_.tile_size) {
      const std::int64_t end = std::min(first + how_.tile_size, keys.end);
      weights.clear();
      for (std::int64_t key = first; key < end; ++key) weights.push_back(in_base(score(row, key)));
      state.rescale(std::max(state.maximum, *std::max_element(weights.begin(), weights.end())));
      for (float& weight : weights) {
        weight = state.power(weight - state.maximum);
        const float stored = rounded(weight);
        state.sum += how_.summed_weights == SummedWeights::kRounded ? stored : weight;
        weight = stored;
      }
      add_products(weights, first, state);
    }
    return state;
  }

  float rounded(float weight) const {
    if (weight_type_ == ElementType::kFp32) return weight;
    return static_cast<float>(round_to(weight, weight_type_));
  }

  // o += P V, for a tile that begins at key `first`.
  void add_products(const Floats& weights, std::int64_t first, Fp32State& state) const {
    const std::int64_t keys = std::ssize(weights);
    std::vector<double> products(static_cast<std::size_t>(how_.terms_per_step));
    for (std::int64_t dim = 0; dim < v_.cols(); ++dim) {
      float& sum = state.weighted[static_cast<std::size_t>(dim)];
      if (how_.rounding == AccumulatorRounding::kNearest) {
        for (std::int64_t key = 0; key < keys; ++key) {
          sum += weights[static_cast<std::size_t>(key)] * v_(first + key, dim);
        }
        continue;
      }
      for (std::int64_t step = 0; step < keys; step += how_.terms_per_step) {
        const std::int64_t count = std::min(how_.terms_per_step, keys - step);
        for (std::int64_t key = 0; key < count; ++key) {
          products[static_cast<std::size_t>(key)] =
              static_cast<double>(weights[static_cast<std::size_t>(step + key)]) *
              v_(first + step + key, dim);
        }
        sum = truncated_sum(sum, {products.data(), static_cast<std::size_t>(count)});
      }
    }
  }

  const FloatMatrix& q_;
  const FloatMatrix& k_;
  const FloatMatrix& v_;
  float scale_;
  float softcap_;
  float alibi_slope_;
  float sink_;
  const LowPrecisionOptions& how_;
  ElementType weight_type_;
};

// fp32 queries keep P in fp32.
ElementType weight_type_of(const PagedAttentionInputs& inputs) { return inputs.q.type; }

// All query heads of one KV head.
void attend(const PagedAttentionInputs& inputs, const KvHeadContext& context,
            const LowPrecisionOptions& how, AttentionResult& result) {
  HeadTensors tensors{.q = {}, .k = context.k.cast<float>(), .v = context.v.cast<float>()};
  Floats out(static_cast<std::size_t>(result.head_dim));
  for (std::int64_t head = context.q_head_begin; head < context.q_head_end; ++head) {
    tensors.q = read_rows(inputs.q, head, context.first_row, context.num_rows).cast<float>();
    const HeadOptions options = head_options(inputs.options, head);
    const HeadRun run(tensors, options, how, weight_type_of(inputs));
    for (std::int64_t row = 0; row < context.num_rows; ++row) {
      const KeyRange seen = visible_keys(options, row, context.num_rows, context.k.rows());
      result.lse_ln_at(context.first_row + row, head) = run.attend(row, seen, out);
      for (std::int64_t dim = 0; dim < result.head_dim; ++dim) {
        result.out_at(context.first_row + row, head, dim) =
            round_to(out[static_cast<std::size_t>(dim)], inputs.q.type);
      }
    }
  }
}

}  // namespace

AttentionResult low_precision_attention(const PagedAttentionInputs& inputs,
                                        const LowPrecisionOptions& how) {
  RECTO_CHECK_GT(how.tile_size, 0);
  AttentionResult result(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
  for_each_kv_head(inputs,
                   [&](const KvHeadContext& context) { attend(inputs, context, how, result); });
  return result;
}

KernelNumerics low_precision_numerics(const PagedAttentionInputs& inputs,
                                      const LowPrecisionOptions& how) {
  const Accumulation products{
      .terms_per_step = how.rounding == AccumulatorRounding::kTruncate ? how.terms_per_step : 1,
      .rounding = how.rounding,
      .product_roundings = how.rounding == AccumulatorRounding::kTruncate ? 0 : 1};
  KernelNumerics numerics;
  numerics.kv_read = is_fp8(inputs.kv.k.type) ? 0x1p-24 : 0.0;
  numerics.score_sum = products;
  numerics.tanh_relative = 0x1p-22;  // glibc's tanhf: 2 ulp; its expf and logf: 1 ulp
  numerics.output_sum = products;
  if (weight_type_of(inputs) != ElementType::kFp32) numerics.weight_type = weight_type_of(inputs);
  numerics.summed_weights = how.summed_weights;
  numerics.tile_size = how.tile_size;
  numerics.split_size = how.split_size;
  numerics.normalisation_roundings = 1;
  numerics.split_merge = how.split_merge;
  if (how.base == ExponentialBase::kTwo) {
    numerics.argument_roundings = 2;
    numerics.shared_scale = 0x1p-24;  // log2(e) in fp32
  }
  numerics.output_type = inputs.q.type;
  return numerics;
}

}  // namespace recto::reference
