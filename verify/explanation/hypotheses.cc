#include "verify/explanation/hypotheses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "verify/explanation/empty_row_hypotheses.h"
#include "verify/explanation/group_hypotheses.h"
#include "verify/explanation/hypothesis_trial.h"
#include "verify/explanation/narrowing_hypotheses.h"
#include "verify/explanation/row_hypotheses.h"
#include "verify/explanation/score_hypotheses.h"
#include "verify/explanation/sequence_hypotheses.h"
#include "verify/explanation/table_hypotheses.h"
#include "verify/explanation/truncation_hypotheses.h"
#include "verify/explanation/unwritten_hypotheses.h"

namespace recto::verify {
namespace {

using Trial = HypothesisTrial;
using reference::BoundedResult;

template <typename Change>
void add_options(Trial& trial, const char* what, const Change& change) {
  PagedAttentionInputs inputs = trial.inputs();
  change(inputs.options);
  trial.add(what, inputs);
}

// Each query head gets the value at the place of its KV head.
std::vector<float> by_kv_head(const PagedAttentionInputs& inputs, std::span<const float> values) {
  const std::size_t group = inputs.q.num_heads / inputs.kv.k.num_kv_heads;
  std::vector<float> read;
  for (std::size_t head = 0; head < values.size(); ++head) read.push_back(values[head / group]);
  return read;
}

void add_masks(Trial& trial) {
  const AttentionOptions& options = trial.inputs().options;
  add_options(trial, options.causal ? "no causal mask" : "a causal mask that was not asked for",
              [](AttentionOptions& changed) { changed.causal = !changed.causal; });
  if (!options.window) return;
  add_options(trial, "the window is one key too wide",
              [](AttentionOptions& changed) { ++*changed.window; });
  if (*options.window > 1) {
    add_options(trial, "the window is one key too narrow",
                [](AttentionOptions& changed) { --*changed.window; });
  }
  add_options(trial, "the window is left out",
              [](AttentionOptions& changed) { changed.window.reset(); });
}

void add_scores(Trial& trial) {
  const AttentionOptions& options = trial.inputs().options;
  add_options(trial, "the scale is left out",
              [](AttentionOptions& changed) { changed.scale = 1.0F; });
  add_options(trial, "the scale is applied twice",
              [](AttentionOptions& changed) { changed.scale *= changed.scale; });
  const float usual = 1.0F / std::sqrt(static_cast<float>(trial.inputs().q.head_dim));
  add_options(trial, "1 / sqrt(head dim) in place of the scale",
              [usual](AttentionOptions& changed) { changed.scale = usual; });
  if (options.softcap > 0.0F) {
    add_options(trial, "the soft cap is left out",
                [](AttentionOptions& changed) { changed.softcap = 0.0F; });
  }
  if (options.alibi_slopes.empty()) return;
  add_options(trial, "ALiBi is left out",
              [](AttentionOptions& changed) { changed.alibi_slopes = {}; });
  std::vector<float> negated;
  for (const float slope : options.alibi_slopes) negated.push_back(-slope);
  const std::vector<float> of_kv_heads = by_kv_head(trial.inputs(), options.alibi_slopes);
  add_options(trial, "ALiBi has the wrong sign",
              [&negated](AttentionOptions& changed) { changed.alibi_slopes = negated; });
  add_options(trial, "ALiBi's slopes are read by KV head",
              [&of_kv_heads](AttentionOptions& changed) { changed.alibi_slopes = of_kv_heads; });
}

// Faults of the lse alone, and of sinks.
void add_sums(Trial& trial) {
  BoundedResult base2 = trial.right();
  for (double& lse_ln : base2.exact.lse_ln) lse_ln /= std::numbers::ln2;
  for (double& bound : base2.hard.lse_ln) bound /= std::numbers::ln2;
  for (double& bound : base2.sharp.lse_ln) bound /= std::numbers::ln2;
  trial.add("the lse is a logarithm of base 2", base2);
  if (trial.inputs().options.sinks.empty()) return;
  PagedAttentionInputs inputs = trial.inputs();
  inputs.options.sinks = {};
  const BoundedResult without = trial.bounded(inputs);
  trial.add("the sink is left out", without);
  BoundedResult mixed = trial.right();
  mixed.exact.lse_ln = without.exact.lse_ln;
  mixed.hard.lse_ln = without.hard.lse_ln;
  mixed.sharp.lse_ln = without.sharp.lse_ln;
  trial.add("the sink is left out of the lse", mixed);
  const std::vector<float> of_kv_heads = by_kv_head(inputs, trial.inputs().options.sinks);
  inputs.options.sinks = of_kv_heads;
  trial.add("sinks are read by KV head", inputs);
  mixed = without;
  mixed.exact.lse_ln = trial.right().exact.lse_ln;
  mixed.hard.lse_ln = trial.right().hard.lse_ln;
  mixed.sharp.lse_ln = trial.right().sharp.lse_ln;
  trial.add("the sink is left out of the output", mixed);
}

void add_cache_scales(Trial& trial) {
  const KvScale k = trial.inputs().kv.k.scale;
  const KvScale v = trial.inputs().kv.v.scale;
  const auto add = [&](const char* what, const KvScale& of_k, const KvScale& of_v) {
    PagedAttentionInputs inputs = trial.inputs();
    inputs.kv.k.scale = of_k;
    inputs.kv.v.scale = of_v;
    trial.add(what, inputs);
  };
  const auto first_of = [](const KvScale& scale) {
    if (scale.kind != ScaleKind::kPerKvHead) return scale;
    return KvScale{.kind = ScaleKind::kPerTensor, .data = scale.data};
  };
  add("K's scale is left out", {}, v);
  add("V's scale is left out", k, {});
  add("the scales of K and V are left out", {}, {});
  add("K's first head's scale for all heads", first_of(k), v);
  add("V's first head's scale for all heads", k, first_of(v));
  add("the first head's scales of K and V for all heads", first_of(k), first_of(v));
}

void add_lengths(Trial& trial) {
  PagedAttentionInputs inputs = trial.inputs();
  std::vector<std::int32_t> lengths(inputs.context_length.begin(), inputs.context_length.end());
  std::vector<std::int32_t> changed = lengths;
  for (std::int32_t& length : changed) length = std::max(0, length - 1);
  inputs.context_length = changed;
  trial.add("context lengths without the newest token", inputs);
  const auto block_size = static_cast<std::int32_t>(inputs.kv.k.block_size);
  changed = lengths;
  for (std::int32_t& length : changed) length -= length % block_size;
  trial.add("context lengths rounded down to whole blocks", inputs);
  changed = lengths;
  for (std::int32_t& length : changed) length = (length + block_size - 1) / block_size * block_size;
  trial.add("context lengths rounded up to whole blocks", inputs);
}

// Query head h attends to KV head h % num_kv_heads: the same problem with a KV head for each.
void add_groups(Trial& trial, const LawCase& law_case) {
  LawCase changed = law_case;
  ProblemShape& shape = changed.problem.shape;
  const std::int64_t kv_heads = shape.num_kv_heads;
  if (kv_heads == 1 || shape.group() == 1) return;
  const std::int64_t heads = shape.num_q_heads;
  const auto spread = [&](std::vector<float>& values, std::int64_t dims, std::int64_t tokens) {
    std::vector<float> all;
    for (std::int64_t row = 0; row < tokens * heads; ++row) {
      const std::int64_t from = (row / heads * kv_heads + row % heads % kv_heads) * dims;
      for (std::int64_t d = 0; d < dims; ++d)
        all.push_back(values[static_cast<std::size_t>(from + d)]);
    }
    values = std::move(all);
  };
  for (SequenceProblem& sequence : changed.problem.sequences) {
    spread(sequence.k, shape.head_dim_k, sequence.context_length);
    spread(sequence.v, shape.head_dim_v, sequence.context_length);
  }
  const auto spread_scales = [&](std::vector<float>& scales) {
    if (std::ssize(scales) == kv_heads && kv_heads > 1) spread(scales, 1, 1);
  };
  spread_scales(changed.problem.options.k_scales);
  spread_scales(changed.problem.options.v_scales);
  shape.num_kv_heads = heads;
  const PlacedProblem placed(changed.problem, changed.placement);
  trial.add("KV head h % num_kv_heads for query head h", trial.bounded(placed.inputs()));
}

}  // namespace

HypothesisReport try_hypotheses(const Backend& backend, const LawCase& law_case,
                                const reference::AttentionResult& seen, BoundKind bound_kind,
                                const StaleResults* stale) {
  const PlacedProblem placed(law_case.problem, law_case.placement);
  Trial trial(backend, placed.inputs(), seen, bound_kind, stale);
  add_masks(trial);
  add_scores(trial);
  add_late_scales(trial);
  add_capped_alibi(trial);
  add_alibi_origins(trial);
  add_sums(trial);
  add_truncations(trial);
  add_narrowed_inputs(trial);
  add_cache_scales(trial);
  add_lengths(trial);
  add_cut_offs(trial);
  add_unscaled_sums(trial);
  add_row_searches(trial);
  add_groups(trial, law_case);
  add_padded_groups(trial);
  add_head_limits(trial);
  add_tile_ends(trial);
  add_table_strides(trial);
  add_tables(trial);
  add_unwritten(trial);
  add_empty_rows(trial);
  return trial.take();
}

}  // namespace recto::verify
