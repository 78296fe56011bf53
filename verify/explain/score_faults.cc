// Fault models: which keys are seen, how their scores are computed, and how they are summed.

#include <cmath>
#include <numbers>

#include "core/units.h"
#include "reference/kv_cache_reader.h"
#include "verify/explain/fault_model.h"

namespace recto::verify {
namespace {

// A change without parameters.
struct KnownFault {
  const char* name;
  bool (*applies)(const FailedCase& of);
  void (*change)(AttentionRow& row);
};

template <std::size_t count>
FaultFamily applicable(const KnownFault (&faults)[count], const FailedCase& of) {
  FaultFamily family;
  for (const auto& [name, applies, change] : faults)
    if (applies(of)) family.models.emplace_back(name, change);
  return family;
}

bool always(const FailedCase& /*of*/) { return true; }
bool is_causal(const FailedCase& of) { return of.inputs.options.causal; }
bool is_not_causal(const FailedCase& of) { return !of.inputs.options.causal; }
bool has_window(const FailedCase& of) { return of.inputs.options.window.has_value(); }
bool has_wide_window(const FailedCase& of) { return of.inputs.options.window > 1; }
bool has_softcap(const FailedCase& of) { return of.inputs.options.softcap > 0.0F; }
bool has_alibi(const FailedCase& of) { return !of.inputs.options.alibi_slopes.empty(); }
bool has_sinks(const FailedCase& of) { return !of.inputs.options.sinks.empty(); }
bool scales_capped_k(const FailedCase& of) {
  return has_softcap(of) && of.inputs.kv.k.scale.kind != ScaleKind::kNone;
}
// With a scale of 1, the fault is the same as for K's scale alone.
bool scales_capped_twice(const FailedCase& of) {
  return scales_capped_k(of) && std::abs(of.inputs.options.scale) != 1.0F;
}

bool has_sequences(const FailedCase& of) { return of.sequences.size() > 1; }

std::size_t own_kv_head(const AttentionRow& row) { return static_cast<std::size_t>(row.k_head); }

// a cap tanh(x / cap) equals cap' tanh(a x / cap') with cap' = a cap, and is even in cap'.
void scale_after_cap(AttentionRow& row, double scale) { row.options.softcap *= std::abs(scale); }
double scale_of_k(const AttentionRow& row) {
  return reference::scale_of(row.of.inputs.kv.k, row.k_head);
}

constexpr KnownFault kMasksAndScores[] = {
    {"no causal mask", is_causal, [](AttentionRow& row) { row.options.causal = false; }},
    {"a causal mask that was not requested", is_not_causal,
     [](AttentionRow& row) { row.options.causal = true; }},
    {"the window is one key too wide", has_window,
     [](AttentionRow& row) { ++*row.options.window; }},
    {"the window is one key too narrow", has_wide_window,
     [](AttentionRow& row) { --*row.options.window; }},
    {"the window is left out", has_window, [](AttentionRow& row) { row.options.window.reset(); }},
    {"the scale is left out", always, [](AttentionRow& row) { row.options.scale = 1.0; }},
    {"the scale is applied twice", always,
     [](AttentionRow& row) { row.options.scale *= row.options.scale; }},
    {"1 / sqrt(head dim) in place of the scale", always,
     [](AttentionRow& row) {
       row.options.scale = 1.0F / std::sqrt(static_cast<float>(row.of.inputs.q.head_dim));
     }},
    {"the soft cap is left out", has_softcap, [](AttentionRow& row) { row.options.softcap = 0.0; }},
    {"ALiBi is left out", has_alibi, [](AttentionRow& row) { row.options.alibi_slope = 0.0; }},
    {"ALiBi has the wrong sign", has_alibi,
     [](AttentionRow& row) { row.options.alibi_slope = -row.options.alibi_slope; }},
    {"ALiBi's slopes are read by KV head", has_alibi,
     [](AttentionRow& row) {
       row.options.alibi_slope = row.of.inputs.options.alibi_slopes[own_kv_head(row)];
     }},
    {"the scale is applied after the soft cap", has_softcap,
     [](AttentionRow& row) { scale_after_cap(row, row.options.scale); }},
    {"K's scale is applied after the soft cap", scales_capped_k,
     [](AttentionRow& row) { scale_after_cap(row, scale_of_k(row)); }},
    {"the scale and K's are applied after the soft cap", scales_capped_twice,
     [](AttentionRow& row) { scale_after_cap(row, row.options.scale * scale_of_k(row)); }}};

// Which of a row's results is computed without the sink, while the other one includes it.
enum class WithoutSink : std::uint8_t { kOut, kLseLn };

void leave_sink_out_of(AttentionRow& row, WithoutSink without) {
  RowResult mixed = row.right();
  row.options.sink.reset();
  row.finish();
  const bool is_out = without == WithoutSink::kOut;
  RowResult& from = is_out ? mixed : *row.result;
  RowResult& to = is_out ? *row.result : mixed;
  to.lse_ln = from.lse_ln;
  to.bound.lse_ln_worst_case = from.bound.lse_ln_worst_case;
  to.bound.lse_ln_probabilistic = from.bound.lse_ln_probabilistic;
  row.result = to;
}

constexpr KnownFault kSums[] = {
    {"the lse is a logarithm of base 2", always,
     [](AttentionRow& row) {
       row.result = row.right();
       for (double* number : {&row.result->lse_ln, &row.result->bound.lse_ln_worst_case,
                              &row.result->bound.lse_ln_probabilistic})
         *number /= std::numbers::ln2;
     }},
    {"the sink is left out", has_sinks, [](AttentionRow& row) { row.options.sink.reset(); }},
    {"the sink is left out of the lse", has_sinks,
     [](AttentionRow& row) { leave_sink_out_of(row, WithoutSink::kLseLn); }},
    {"sinks are read by KV head", has_sinks,
     [](AttentionRow& row) { row.options.sink = row.of.inputs.options.sinks[own_kv_head(row)]; }},
    {"the sink is left out of the output", has_sinks,
     [](AttentionRow& row) { leave_sink_out_of(row, WithoutSink::kOut); }}};

// What a kernel uses as the scale of a KV head's K or V.
enum class TakenScale : std::uint8_t { kOwn, kNone, kOfFirstHead };

void take_scale(reference::Matrix& values, const KvTensorView& view, std::int64_t head,
                TakenScale taken) {
  const double own = reference::scale_of(view, head);
  const double first = reference::scale_of(view, 0);
  const double other = taken == TakenScale::kNone ? 1.0 : first;
  if (taken != TakenScale::kOwn) values = values / own * other;
}

template <TakenScale k_scale, TakenScale v_scale>
void take_scales(AttentionRow& row) {
  row.read([&](reference::Matrix& k, reference::Matrix& v) {
    take_scale(k, row.of.inputs.kv.k, row.k_head, k_scale);
    take_scale(v, row.of.inputs.kv.v, row.v_head, v_scale);
  });
}

using enum TakenScale;
constexpr KnownFault kCache[] = {
    {"K's scale is left out", always, take_scales<kNone, kOwn>},
    {"V's scale is left out", always, take_scales<kOwn, kNone>},
    {"the scales of K and V are left out", always, take_scales<kNone, kNone>},
    {"K's first head's scale for all heads", always, take_scales<kOfFirstHead, kOwn>},
    {"V's first head's scale for all heads", always, take_scales<kOwn, kOfFirstHead>},
    {"the first head's scales of K and V for all heads", always,
     take_scales<kOfFirstHead, kOfFirstHead>},
    {"context lengths without the newest token", always,
     [](AttentionRow& row) {
       row.context.context_length = std::max<std::int64_t>(0, row.context.context_length - 1);
     }},
    {"context lengths rounded down to whole blocks", always,
     [](AttentionRow& row) {
       row.context.context_length -= row.context.context_length % row.of.inputs.kv.k.block_size;
     }},
    {"context lengths rounded up to whole blocks", always, [](AttentionRow& row) {
       const std::int64_t block_size = row.of.inputs.kv.k.block_size;
       row.context.context_length = ceil_div(row.context.context_length, block_size) * block_size;
     }}};

constexpr KnownFault kAlibiOrigins[] = {
    {"ALiBi's distances are counted from the context's last key", always,
     [](AttentionRow& row) { row.origin = row.context.context_length - 1; }},
    {"ALiBi's distances are counted from the row's index in its sequence", always,
     [](AttentionRow& row) { row.origin = row.at.row; }},
    {"ALiBi's distances are counted from the row's index in the batch", has_sequences,
     [](AttentionRow& row) { row.origin = row.of.row_of(row.at); }}};

// Adds the bias as one more dim of the products, with 1 in q.
void add_bias_before_cap(AttentionRow& row) {
  row.read();
  const std::int64_t dims = row.q.size();
  row.q.conservativeResize(dims + 1);
  row.q[dims] = 1.0;
  row.k.conservativeResize(Eigen::NoChange, dims + 1);
  for (std::int64_t key = 0; key < row.k.rows(); ++key) {
    const auto distance = static_cast<double>(row.first_distance() + key);
    row.k(key, dims) = row.options.alibi_slope * distance / row.options.scale;
  }
  row.options.alibi_slope = 0.0;
}

}  // namespace

FaultFamily mask_and_score_faults(const FailedCase& of) { return applicable(kMasksAndScores, of); }
FaultFamily sum_faults(const FailedCase& of) { return applicable(kSums, of); }
FaultFamily cache_faults(const FailedCase& of) { return applicable(kCache, of); }

FaultFamily capped_alibi(const FailedCase& of) {
  if (!has_alibi(of) || !has_softcap(of) || of.inputs.options.scale == 0.0F) return {};
  return {.models = {{"ALiBi is added before the soft cap", add_bias_before_cap}},
          .what = "ALiBi before the soft cap",
          .changes = 1};
}

FaultFamily alibi_origins(const FailedCase& of) {
  if (!has_alibi(of)) return {};
  FaultFamily family = applicable(kAlibiOrigins, of);
  family.what = "distances of ALiBi that are counted from elsewhere";
  family.changes = std::ssize(kAlibiOrigins);
  return family;
}

}  // namespace recto::verify
