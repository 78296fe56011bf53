#include "reference/error_bound.h"

#include <cmath>

#include "reference/kv_cache_reader.h"
#include "reference/output_error.h"

namespace recto::reference {
namespace {

// The error of a row without keys. out is exactly 0; lse is -inf, or the sink plus ln 1. A kernel
// that merges normalised parts computes ln 1 twice.
double empty_lse_ln_error(const HeadOptions& options, const KernelNumerics& numerics) {
  if (!options.sink || std::isinf(*options.sink)) return 0;
  const double sink = std::abs(*options.sink);
  const double logs = numerics.split_merge == SplitMerge::kNormalised ? 2 : 1;
  const double error = numerics.shared_scale * sink + logs * numerics.log_absolute;
  return error + numerics.lse_ln_roundings * numerics.unit_roundoff * (sink + error);
}

template <typename Inputs>
BoundedResult bounded(const Inputs& inputs, const KernelNumerics& numerics) {
  const AttentionResult blank(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
  BoundedResult result{blank, blank, blank};
  for_each_kv_head(inputs, [&](const KvHeadContext& context) {
    const HeadErrorModel model(context.k, context.v, numerics);
    for (std::int64_t head = context.q_head_begin; head < context.q_head_end; ++head) {
      const Matrix q = read_rows(inputs.q, head, context.first_row, context.num_rows);
      const HeadOptions options = head_options(inputs.options, head);
      const HeadOutput exact = dense_attention({q, context.k, context.v}, options);
      const HeadBound bound = model.bound(q, options, exact);
      result.exact.store(context.first_row, head, exact);
      result.worst_case.store(context.first_row, head, {bound.worst_case, bound.lse_ln_worst_case});
      result.probabilistic.store(context.first_row, head,
                                 {bound.probabilistic, bound.lse_ln_probabilistic});
    }
  });
  return result;
}

}  // namespace

HeadErrorModel::HeadErrorModel(const Matrix& k, const Matrix& v, const KernelNumerics& numerics)
    : k_(k),
      v_(v),
      numerics_(numerics),
      key_coherence_(key_coherence(k)),
      value_coherence_(value_coherence(v)) {}

void HeadErrorModel::reread_key(std::int64_t key) {
  key_coherence_[key] = key_coherence(k_.middleRows(key, 1))[0];
}

HeadBound HeadErrorModel::bound(const Matrix& q, const HeadOptions& options,
                                const HeadOutput& exact) const {
  const std::int64_t m = q.rows();
  HeadBound bounds{Matrix::Zero(m, v_.cols()), Matrix::Zero(m, v_.cols()), Vector(m), Vector(m)};
  for (std::int64_t row = 0; row < m; ++row) {
    const KeyRange seen = visible_keys(options, row, m, k_.rows());
    if (seen.size() == 0) {
      bounds.lse_ln_worst_case[row] = bounds.lse_ln_probabilistic[row] =
          empty_lse_ln_error(options, numerics_);
      continue;
    }
    const KeyRows keys{k_.middleRows(seen.begin, seen.size()),
                       key_coherence_.segment(seen.begin, seen.size()),
                       seen.begin - position_of(row, m, k_.rows())};
    const WeightErrors weights =
        weight_errors(score_errors(q.row(row), keys, options, numerics_), options, numerics_);
    const RowProblem problem{v_.middleRows(seen.begin, seen.size()), value_coherence_,
                             exact.out.row(row), exact.lse_ln[row]};
    const RowBound bound = row_bound(problem, weights, numerics_);
    bounds.worst_case.row(row) = bound.worst_case;
    bounds.probabilistic.row(row) = bound.probabilistic;
    bounds.lse_ln_worst_case[row] = bound.lse_ln_worst_case;
    bounds.lse_ln_probabilistic[row] = bound.lse_ln_probabilistic;
  }
  return bounds;
}

BoundedResult bounded_attention(const PagedAttentionInputs& inputs,
                                const KernelNumerics& numerics) {
  return bounded(inputs, numerics);
}

BoundedResult bounded_decode_step(const DecodeStepInputs& inputs, const KernelNumerics& numerics) {
  return bounded(inputs, numerics);
}

}  // namespace recto::reference
