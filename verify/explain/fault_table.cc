// The table of fault models without parameters: what is reported, when it applies, and what it
// changes in the computation of a row.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <span>
#include <vector>

#include "reference/kv_cache_reader.h"
#include "verify/explain/fault_model.h"

namespace recto::verify {
namespace {

bool always(const FailedCase& /*of*/) { return true; }
bool is_causal(const FailedCase& of) { return of.inputs.options.causal; }
bool is_not_causal(const FailedCase& of) { return !is_causal(of); }
bool has_window(const FailedCase& of) { return of.inputs.options.window.has_value(); }
bool has_wide_window(const FailedCase& of) { return of.inputs.options.window > 1; }
bool has_softcap(const FailedCase& of) { return of.inputs.options.softcap > 0.0F; }
bool has_alibi(const FailedCase& of) { return !of.inputs.options.alibi_slopes.empty(); }
bool has_alibi_of_batch(const FailedCase& of) { return has_alibi(of) && of.sequences.size() > 1; }
bool has_capped_alibi(const FailedCase& of) {
  return has_alibi(of) && has_softcap(of) && of.inputs.options.scale != 0.0F;
}
bool has_sinks(const FailedCase& of) { return !of.inputs.options.sinks.empty(); }
bool has_groups(const FailedCase& of) { return of.num_kv_heads() > 1 && of.group() > 1; }
bool scales_capped_k(const FailedCase& of) {
  return has_softcap(of) && of.inputs.kv.k.scale.kind != ScaleKind::kNone;
}
// With a scale of 1, the fault is the same as for K's scale alone.
bool scales_capped_twice(const FailedCase& of) {
  return scales_capped_k(of) && std::abs(of.inputs.options.scale) != 1.0F;
}

// For a number of each head, read by KV head.
double of_kv_head(std::span<const float> numbers, const AttentionRow& row) {
  return numbers[static_cast<std::size_t>(row.k_head)];
}

// a cap tanh(x / cap) equals cap' tanh(a x / cap') with cap' = a cap, and is even in cap'.
void scale_after_cap(AttentionRow& row, double scale) { row.options.softcap *= std::abs(scale); }
double scale_of_k(const AttentionRow& row) {
  return reference::scale_of(row.of.inputs.kv.k, row.k_head);
}

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

void take_base_2(AttentionRow& row) {
  row.result = row.right();
  for (auto* const part : {&row.result->exact, &row.result->worst_case, &row.result->probabilistic})
    part->lse_ln /= std::numbers::ln2;
}

RowResult without_sink(AttentionRow& row) {
  row.options.sink.reset();
  row.finish();
  return *row.result;
}
// The output of one result with the lse of another.
RowResult joined(RowResult out, const RowResult& lse_ln) {
  out.exact.lse_ln = lse_ln.exact.lse_ln;
  out.worst_case.lse_ln = lse_ln.worst_case.lse_ln;
  out.probabilistic.lse_ln = lse_ln.probabilistic.lse_ln;
  return out;
}

// What a kernel uses as the scale of a KV head's K or V.
enum class TakenScale : std::uint8_t { kOwn, kNone, kOfFirstHead };
using enum TakenScale;

void take_scale(reference::Matrix& values, const KvTensorView& view, std::int64_t head,
                TakenScale taken) {
  if (taken == kOwn) return;
  values = values / reference::scale_of(view, head) *
           (taken == kNone ? 1.0 : reference::scale_of(view, 0));
}

template <TakenScale kOfKeys, TakenScale kOfValues>
void take_scales(AttentionRow& row) {
  row.read([&](reference::Matrix& k, reference::Matrix& v) {
    take_scale(k, row.of.inputs.kv.k, row.k_head, kOfKeys);
    take_scale(v, row.of.inputs.kv.v, row.v_head, kOfValues);
  });
}

void read_consecutive_blocks(AttentionRow& row) {
  std::vector<std::int32_t> ids = row.blocks;
  for (std::size_t i = 1; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>((ids[i - 1] + 1) % row.of.inputs.kv.k.num_blocks);
  row.read_blocks(ids);
}

void read_logical_blocks(AttentionRow& row) {
  std::vector<std::int32_t> ids = row.blocks;
  std::iota(ids.begin(), ids.end(), 0);
  row.read_blocks(ids);
}

struct KnownFault {
  const char* name;
  bool (*applies)(const FailedCase& of);
  void (*change)(AttentionRow& row);
};

constexpr KnownFault kKnownFaults[] = {
    {"no causal mask", is_causal, [](auto& row) { row.options.causal = false; }},
    {"a causal mask that was not requested", is_not_causal,
     [](auto& row) { row.options.causal = true; }},
    {"the window is one key too wide", has_window, [](auto& row) { ++*row.options.window; }},
    {"the window is one key too narrow", has_wide_window, [](auto& row) { --*row.options.window; }},
    {"the window is left out", has_window, [](auto& row) { row.options.window.reset(); }},
    {"the scale is left out", always, [](auto& row) { row.options.scale = 1.0; }},
    {"the scale is applied twice", always,
     [](auto& row) { row.options.scale *= row.options.scale; }},
    {"1 / sqrt(head dim) in place of the scale", always,
     [](auto& row) {
       row.options.scale = 1.0F / std::sqrt(static_cast<float>(row.of.inputs.q.head_dim));
     }},
    {"the soft cap is left out", has_softcap, [](auto& row) { row.options.softcap = 0.0; }},
    {"ALiBi is left out", has_alibi, [](auto& row) { row.options.alibi_slope = 0.0; }},
    {"ALiBi has the wrong sign", has_alibi,
     [](auto& row) { row.options.alibi_slope = -row.options.alibi_slope; }},
    {"ALiBi's slopes are read by KV head", has_alibi,
     [](auto& row) {
       row.options.alibi_slope = of_kv_head(row.of.inputs.options.alibi_slopes, row);
     }},
    {"the scale is applied after the soft cap", has_softcap,
     [](auto& row) { scale_after_cap(row, row.options.scale); }},
    {"K's scale is applied after the soft cap", scales_capped_k,
     [](auto& row) { scale_after_cap(row, scale_of_k(row)); }},
    {"the scale and K's are applied after the soft cap", scales_capped_twice,
     [](auto& row) { scale_after_cap(row, row.options.scale * scale_of_k(row)); }},
    {"ALiBi is added before the soft cap", has_capped_alibi, add_bias_before_cap},
    {"ALiBi's distances are counted from the context's last key", has_alibi,
     [](auto& row) { row.origin = row.context_length - 1; }},
    {"ALiBi's distances are counted from the row's index in its sequence", has_alibi,
     [](auto& row) { row.origin = row.at.row; }},
    {"ALiBi's distances are counted from the row's index in the batch", has_alibi_of_batch,
     [](auto& row) { row.origin = row.of.row_of(row.at); }},
    {"the lse is a logarithm of base 2", always, take_base_2},
    {"the sink is left out", has_sinks, [](auto& row) { row.options.sink.reset(); }},
    {"the sink is left out of the lse", has_sinks,
     [](auto& row) { row.result = joined(row.right(), without_sink(row)); }},
    {"sinks are read by KV head", has_sinks,
     [](auto& row) { row.options.sink = of_kv_head(row.of.inputs.options.sinks, row); }},
    {"the sink is left out of the output", has_sinks,
     [](auto& row) { row.result = joined(without_sink(row), row.right()); }},
    {"K's scale is left out", always, take_scales<kNone, kOwn>},
    {"V's scale is left out", always, take_scales<kOwn, kNone>},
    {"the scales of K and V are left out", always, take_scales<kNone, kNone>},
    {"K's first head's scale for all heads", always, take_scales<kOfFirstHead, kOwn>},
    {"V's first head's scale for all heads", always, take_scales<kOwn, kOfFirstHead>},
    {"the first head's scales of K and V for all heads", always,
     take_scales<kOfFirstHead, kOfFirstHead>},
    {"context lengths without the newest token", always,
     [](auto& row) { row.context_length = std::max<std::int64_t>(0, row.context_length - 1); }},
    {"context lengths rounded down to whole blocks", always,
     [](auto& row) { row.context_length -= row.context_length % row.block_size(); }},
    {"context lengths rounded up to whole blocks", always,
     [](auto& row) { row.context_length = std::ssize(row.blocks) * row.block_size(); }},
    {"KV head h % num_kv_heads for query head h", has_groups,
     [](auto& row) { row.read_kv_head(row.at.head % row.of.num_kv_heads()); }},
    {"logical blocks taken for physical ones", always, read_logical_blocks},
    {"blocks taken to be consecutive", always, read_consecutive_blocks}};

}  // namespace

FaultFamily faults_of_table(const FailedCase& of) {
  FaultFamily family;
  for (const auto& [name, applies, change] : kKnownFaults)
    if (applies(of)) family.models.push_back({name, change});
  return family;
}

}  // namespace recto::verify
