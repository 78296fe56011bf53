#include "reference/low_precision_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/contract.h"
#include "reference/fp32_state.h"
#include "reference/fp32_sum.h"
#include "reference/kv_cache_reader.h"
#include "reference/rounding.h"

namespace recto::reference {
namespace {

using Floats = std::vector<float>;

struct HeadTensors {
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> q;  // [m, head_dim_k]
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> k;  // [n, head_dim_k]
  Eigen::MatrixXf v;  // [n, head_dim_v], column-major
};

Fp32Arithmetic arithmetic_of(const LowPrecisionOptions& how) {
  return {.base = how.base, .subnormals = how.subnormals, .functions = how.functions};
}

Accumulation sum_of_products(const LowPrecisionOptions& how) {
  const bool truncates = how.rounding == AccumulatorRounding::kTruncate;
  return {.lanes = how.lanes,
          .terms_per_step = truncates ? how.terms_per_step : 1,
          .rounding = how.rounding,
          .product_roundings = truncates ? 0 : 1};
}

Accumulation sum_of_weights(const LowPrecisionOptions& how) { return {.lanes = how.lanes}; }

// One query head of one sequence. P is rounded to `weight_type`; fp32 means no rounding.
class HeadRun {
 public:
  HeadRun(const HeadTensors& tensors, const HeadOptions& options, const LowPrecisionOptions& how,
          ElementType weight_type)
      : tensors_(tensors),
        scale_(static_cast<float>(options.scale)),
        softcap_(static_cast<float>(options.softcap)),
        alibi_slope_(static_cast<float>(options.alibi_slope)),
        sink_(static_cast<float>(options.sink.value_or(-std::numeric_limits<double>::infinity()))),
        how_(how),
        arithmetic_(arithmetic_of(how)),
        products_(sum_of_products(how)),
        weights_(sum_of_weights(how)),
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
      parts.push_back(Fp32State::of_sink(tensors_.v.cols(), in_base(sink_), arithmetic_));
    return how_.split_merge == SplitMerge::kState ? finish(merged(parts), out)
                                                  : combine_normalised(parts, out);
  }

 private:
  float flushed(float value) const { return arithmetic_.flushed(value); }

  float score(std::int64_t row, std::int64_t key) const {
    const auto head_dim = static_cast<std::size_t>(tensors_.k.cols());
    const float product =
        add_products(0.0F, {tensors_.q.row(row).data(), head_dim},
                     {tensors_.k.row(key).data(), head_dim}, products_, arithmetic_);
    float score = flushed(product * scale_);
    if (softcap_ > 0) {
      score = flushed(softcap_ * arithmetic_.tanh(flushed(score / softcap_)));
    }
    if (alibi_slope_ != 0) {
      const std::int64_t distance = key - position_of(row, tensors_.q.rows(), tensors_.k.rows());
      score = flushed(score + flushed(alibi_slope_ * static_cast<float>(distance)));
    }
    return score;
  }

  float in_base(float score) const {
    return how_.base == ExponentialBase::kE ? score : flushed(score * kLog2E);
  }

  Fp32State merged(const std::vector<Fp32State>& parts) const {
    Fp32State whole(tensors_.v.cols(), arithmetic_);
    for (const Fp32State& part : parts) merge_into(whole, part);
    return whole;
  }

  // All tiles of one split.
  Fp32State pass(std::int64_t row, KeyRange keys) const {
    Fp32State state(tensors_.v.cols(), arithmetic_);
    Floats weights;
    Floats stored;
    for (std::int64_t first = keys.begin; first < keys.end; first += how_.tile_size) {
      const std::int64_t end = std::min(first + how_.tile_size, keys.end);
      weights.clear();
      stored.clear();
      for (std::int64_t key = first; key < end; ++key) weights.push_back(in_base(score(row, key)));
      state.rescale(std::max(state.maximum, *std::max_element(weights.begin(), weights.end())));
      for (float& weight : weights) {
        weight = arithmetic_.power(flushed(weight - state.maximum));
        stored.push_back(rounded(weight));
      }
      state.sum =
          add_terms(state.sum, how_.summed_weights == SummedWeights::kRounded ? stored : weights,
                    weights_, arithmetic_);
      for (std::int64_t dim = 0; dim < tensors_.v.cols(); ++dim) {
        float& sum = state.weighted[static_cast<std::size_t>(dim)];
        const float* values = tensors_.v.col(dim).data() + first;
        sum = add_products(sum, stored, {values, stored.size()}, products_, arithmetic_);
      }
    }
    return state;
  }

  float rounded(float weight) const {
    if (weight_type_ == ElementType::kFp32) return weight;
    return static_cast<float>(round_to(weight, weight_type_));
  }

  const HeadTensors& tensors_;
  float scale_;
  float softcap_;
  float alibi_slope_;
  float sink_;
  const LowPrecisionOptions& how_;
  Fp32Arithmetic arithmetic_;
  Accumulation products_;
  Accumulation weights_;
  ElementType weight_type_;
};

// With fp32 queries, P stays in fp32.
ElementType weight_type_of(const PagedAttentionInputs& inputs) { return inputs.q.type; }

bool rounds_dequantised(const PagedAttentionInputs& inputs, const LowPrecisionOptions& how) {
  return is_fp8(inputs.kv.k.type) && how.dequantised == Dequantised::kQueryType;
}

// All query heads of one KV head.
void attend(const PagedAttentionInputs& inputs, const KvHeadContext& context,
            const LowPrecisionOptions& how, AttentionResult& result) {
  const auto as_read = [arithmetic = arithmetic_of(how)](double value) {
    return arithmetic.flushed(static_cast<float>(value));
  };
  const auto kv_as_read = [&](double value) {
    const float read = as_read(value);
    return rounds_dequantised(inputs, how) ? static_cast<float>(round_to(read, inputs.q.type))
                                           : read;
  };
  HeadTensors tensors{
      .q = {}, .k = context.k.unaryExpr(kv_as_read), .v = context.v.unaryExpr(kv_as_read)};
  Floats out(static_cast<std::size_t>(result.head_dim));
  for (std::int64_t head = context.q_head_begin; head < context.q_head_end; ++head) {
    tensors.q = read_rows(inputs.q, head, context.first_row, context.num_rows).unaryExpr(as_read);
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

constexpr double kSmallestNormal = 0x1p-126;
constexpr double kUlp = 0x1p-23;  // relative, at most

// Sets the errors that reference/fp32_arithmetic.h states.
void set_fast_functions(const LowPrecisionOptions& how, KernelNumerics& numerics) {
  // Normalised parts are weighted in base e, whatever base the parts use.
  const bool is_exp = how.base == ExponentialBase::kE || how.split_merge == SplitMerge::kNormalised;
  numerics.exponential = {.relative = 2 * kUlp,
                          .relative_slope = is_exp ? 1.173 * kUlp : 0.0,
                          .flush = kSmallestNormal};
  numerics.tanh_relative = 0x1p-11;
  numerics.log_relative = 3 * kUlp;
  numerics.log_absolute = std::exp2(-21.41);
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
  KernelNumerics numerics;
  if (how.subnormals == Subnormals::kFlushed) {
    numerics.underflow = numerics.input_flush = numerics.exponential.flush = kSmallestNormal;
  }
  if (is_fp8(inputs.kv.k.type)) {
    const bool rounds = rounds_dequantised(inputs, how);
    set_dequantisation(rounds ? inputs.q.type : ElementType::kFp32, numerics);
  }
  numerics.score_sum = numerics.output_sum = sum_of_products(how);
  numerics.weight_sum = sum_of_weights(how);
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
  numerics.tanh_relative = 0x1p-22;  // glibc's tanhf: 2 ulp; its expf and logf: 1 ulp
  if (how.functions == MathFunctions::kFast) set_fast_functions(how, numerics);
  numerics.output_type = inputs.q.type;
  return numerics;
}

}  // namespace recto::reference
