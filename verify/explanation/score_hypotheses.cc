#include "verify/explanation/score_hypotheses.h"

#include <cmath>
#include <cstdint>
#include <functional>

#include "reference/kv_cache_reader.h"
#include "verify/explanation/faulty_parts.h"

namespace recto::verify {
namespace {

using reference::BoundedResult;

// The key that a row's distances are counted from, where it should be at the row's own position.
using Origin = std::function<std::int64_t(const reference::SequenceRows& sequence,
                                          std::int64_t row)>;  // of the sequence

void add_alibi_from(HypothesisTrial& trial, const char* what, const Origin& origin) {
  BoundedResult faulty = trial.right();
  const reference::KernelNumerics numerics = trial.numerics();
  for_each_head(trial.inputs(), [&](const HeadParts& parts) {
    const std::int64_t rows = parts.sequence.num_rows;
    const std::int64_t keys = parts.sequence.context_length;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t from = origin(parts.sequence, row);
      if (from == reference::position_of(row, rows, keys)) continue;
      const auto seen = reference::visible_keys(parts.options, row, rows, keys);
      store_row({.q = parts.q.row(row),
                 .k = parts.k.middleRows(seen.begin, seen.size()),
                 .v = parts.v.middleRows(seen.begin, seen.size()),
                 .options = parts.options,
                 .first_distance = seen.begin - from},
                numerics, parts.sequence.first_row + row, parts.head, faulty);
    }
  });
  trial.add(what, faulty);
}

// The row's bias is what one more dim adds to its products, of 1 in q.
RowParts with_bias_as_dim(const HeadParts& parts, std::int64_t row,
                          const reference::KeyRange& seen) {
  const std::int64_t dims = parts.k.cols();
  const std::int64_t position =
      reference::position_of(row, parts.sequence.num_rows, parts.sequence.context_length);
  RowParts changed{.q = Eigen::RowVectorXd::Ones(dims + 1),
                   .k = reference::Matrix(seen.size(), dims + 1),
                   .v = parts.v.middleRows(seen.begin, seen.size()),
                   .options = parts.options};
  changed.q.head(dims) = parts.q.row(row);
  changed.k.leftCols(dims) = parts.k.middleRows(seen.begin, seen.size());
  for (std::int64_t i = 0; i < seen.size(); ++i) {
    const auto distance = static_cast<double>(seen.begin + i - position);
    changed.k(i, dims) = parts.options.alibi_slope * distance / parts.options.scale;
  }
  changed.options.alibi_slope = 0.0;
  return changed;
}

}  // namespace

void add_late_scales(HypothesisTrial& trial) {
  const PagedAttentionInputs& inputs = trial.inputs();
  if (!(inputs.options.softcap > 0.0F)) return;
  // a cap tanh(x / cap) is cap' tanh(a x / cap') of cap' = a cap, which is even in cap'.
  const auto add = [&](const char* what, const auto& scale_of_head) {
    trial.add(what, bounded_heads(trial, trial.numerics(), [&](HeadParts& parts) {
                parts.options.softcap *= std::abs(scale_of_head(parts));
                return true;
              }));
  };
  const auto of_call = [](const HeadParts& parts) { return parts.options.scale; };
  const auto of_k = [&](const HeadParts& parts) {
    return reference::scale_of(inputs.kv.k, parts.kv_head);
  };
  add("the scale is applied after the soft cap", of_call);
  if (inputs.kv.k.scale.kind == ScaleKind::kNone) return;
  add("K's scale is applied after the soft cap", of_k);
  // Otherwise that is the same fault.
  if (std::abs(inputs.options.scale) == 1.0F) return;
  add("the scale and K's are applied after the soft cap",
      [&](const HeadParts& parts) { return of_call(parts) * of_k(parts); });
}

void add_capped_alibi(HypothesisTrial& trial) {
  const AttentionOptions& options = trial.inputs().options;
  const bool is_capped = options.softcap > 0.0F && !options.alibi_slopes.empty();
  if (!is_capped || options.scale == 0.0F) return;
  if (!trial.affords("ALiBi before the soft cap", 1)) return;
  BoundedResult faulty = trial.right();
  const reference::KernelNumerics numerics = trial.numerics();
  for_each_head(trial.inputs(), [&](const HeadParts& parts) {
    const std::int64_t rows = parts.sequence.num_rows;
    const std::int64_t keys = parts.sequence.context_length;
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto seen = reference::visible_keys(parts.options, row, rows, keys);
      if (seen.size() == 0) continue;
      store_row(with_bias_as_dim(parts, row, seen), numerics, parts.sequence.first_row + row,
                parts.head, faulty);
    }
  });
  trial.add("ALiBi is added before the soft cap", faulty);
}

void add_alibi_origins(HypothesisTrial& trial) {
  if (trial.inputs().options.alibi_slopes.empty()) return;
  if (!trial.affords("distances of ALiBi that are counted from elsewhere", 3)) return;
  add_alibi_from(trial, "ALiBi's distances are counted from the context's last key",
                 [](const reference::SequenceRows& sequence, std::int64_t) {
                   return sequence.context_length - 1;
                 });
  add_alibi_from(trial, "ALiBi's distances are counted from the row's index in its sequence",
                 [](const reference::SequenceRows&, std::int64_t row) { return row; });
  if (trial.inputs().context_length.size() == 1) return;
  add_alibi_from(trial, "ALiBi's distances are counted from the row's index in the batch",
                 [](const reference::SequenceRows& sequence, std::int64_t row) {
                   return sequence.first_row + row;
                 });
}

}  // namespace recto::verify
