#include "verify/explanation/faulty_parts.h"

#include <cmath>

#include "reference/kv_cache_reader.h"

namespace recto::verify {

using reference::BoundedResult;
using reference::HeadBound;
using reference::HeadErrorModel;
using reference::HeadOptions;
using reference::HeadOutput;
using reference::Matrix;

void for_each_head(const PagedAttentionInputs& inputs,
                   const std::function<void(HeadParts&)>& visit) {
  const std::int64_t group = inputs.q.num_heads / inputs.kv.k.num_kv_heads;
  for (const reference::SequenceRows& sequence : reference::sequences_of(inputs)) {
    for (std::int64_t head = 0; head < inputs.q.num_heads; ++head) {
      const std::int64_t kv_head = head / group;
      const std::int32_t* const blocks = sequence.block_table_row;
      const std::int64_t keys = sequence.context_length;
      HeadParts parts{
          .sequence = sequence,
          .head = head,
          .kv_head = kv_head,
          .q = reference::read_rows(inputs.q, head, sequence.first_row, sequence.num_rows),
          .k = reference::gather_head(inputs.kv.k, blocks, keys, kv_head),
          .v = reference::gather_head(inputs.kv.v, blocks, keys, kv_head),
          .options = reference::head_options(inputs.options, head)};
      visit(parts);
    }
  }
}

BoundedResult bounded_heads(const HypothesisTrial& trial, const reference::KernelNumerics& numerics,
                            const std::function<bool(HeadParts&)>& change) {
  BoundedResult result = trial.right();
  for_each_head(trial.inputs(), [&](HeadParts& parts) {
    if (!change(parts)) return;
    const HeadErrorModel model(parts.k, parts.v, numerics);
    const HeadOutput exact = dense_attention({parts.q, parts.k, parts.v}, parts.options);
    const HeadBound bound = model.bound(parts.q, parts.options, exact);
    const std::int64_t row = parts.sequence.first_row;
    result.exact.store(row, parts.head, exact);
    result.hard.store(row, parts.head, {bound.hard, bound.lse_ln_hard});
    result.sharp.store(row, parts.head, {bound.sharp, bound.lse_ln_sharp});
  });
  return result;
}

void store_row(const RowParts& parts, const reference::KernelNumerics& numerics, std::int64_t row,
               std::int64_t head, BoundedResult& result) {
  const std::int64_t keys = parts.k.rows();
  HeadOptions options = parts.options;
  options.causal = false;
  options.window.reset();
  // The oracle's only row stands at the last key. From elsewhere all biases are off by one shift,
  // which it is given as that of the sink, the other way.
  const double shift =
      keys == 0 ? 0.0 : options.alibi_slope * static_cast<double>(parts.first_distance + keys - 1);
  if (options.sink) *options.sink -= shift;
  const Matrix q = parts.q;
  HeadOutput exact = dense_attention({q, parts.k, parts.v}, options);
  HeadBound bound = HeadErrorModel(parts.k, parts.v, numerics).bound(q, options, exact);
  exact.lse_ln[0] += shift;
  // Scores as large as this are rounded by as much more: of weights, and so of V, it is twice that.
  const double roundings = 8.0 * numerics.unit_roundoff * std::abs(shift);
  bound.lse_ln_hard[0] += roundings;
  bound.lse_ln_sharp[0] += roundings;
  for (std::int64_t dim = 0; roundings > 0.0 && dim < parts.v.cols(); ++dim) {
    const double of_out = 2.0 * roundings * parts.v.col(dim).cwiseAbs().maxCoeff();
    bound.hard(0, dim) += of_out;
    bound.sharp(0, dim) += of_out;
  }
  result.exact.store(row, head, exact);
  result.hard.store(row, head, {bound.hard, bound.lse_ln_hard});
  result.sharp.store(row, head, {bound.sharp, bound.lse_ln_sharp});
}

}  // namespace recto::verify
