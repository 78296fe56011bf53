#include "verify/explain/run_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "reference/kv_cache_reader.h"

namespace recto::verify {
namespace {

template <typename Numbers>
std::string numbers_text(const Numbers& numbers) {
  return numbers.empty() ? "none" : fmt::format("{}", fmt::join(numbers, " "));
}

std::string strides_text(const KvTensorView& view) {
  return fmt::format("{} {} {}", view.block_stride, view.head_stride, view.slot_stride);
}

std::vector<float> scales_of(const KvTensorView& view) {
  if (view.scale.kind == ScaleKind::kNone) return {};
  const std::int64_t count = view.scale.kind == ScaleKind::kPerTensor ? 1 : view.num_kv_heads;
  return {view.scale.data, view.scale.data + count};
}

// Sizes and options, by name; the same names for all inputs.
std::vector<std::pair<const char*, std::string>> facts_of(const PagedAttentionInputs& inputs) {
  const AttentionOptions& options = inputs.options;
  const KvTensorView& k = inputs.kv.k;
  const KvTensorView& v = inputs.kv.v;
  std::vector<std::int64_t> rows;
  for (const reference::SequenceRows& sequence : reference::sequences_of(inputs))
    rows.push_back(sequence.num_rows);
  return {{"sequences", fmt::format("{}", rows.size())},
          {"rows", numbers_text(rows)},
          {"contexts", numbers_text(inputs.context_length)},
          {"q heads", fmt::format("{}", inputs.q.num_heads)},
          {"KV heads", fmt::format("{}", k.num_kv_heads)},
          {"head dims", fmt::format("{} of q and k, {} of v", k.head_dim, v.head_dim)},
          {"layout", kv_layout_name(k.layout)},
          {"block size", fmt::format("{}", k.block_size)},
          {"blocks", fmt::format("{}", k.num_blocks)},
          {"K's strides", strides_text(k)},
          {"V's strides", strides_text(v)},
          {"table", fmt::format("{} wide", inputs.block_table.row_stride)},
          {"scale", fmt::format("{}", options.scale)},
          {"soft cap", fmt::format("{}", options.softcap)},
          {"causal", options.causal ? "yes" : "no"},
          {"window", options.window ? fmt::format("{}", *options.window) : "none"},
          {"ALiBi", numbers_text(options.alibi_slopes)},
          {"sinks", numbers_text(options.sinks)},
          {"K's scales", numbers_text(scales_of(k))},
          {"V's scales", numbers_text(scales_of(v))}};
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kShown = 40;  // characters per list
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

// Concatenates all heads: [rows, heads, dims].
std::vector<float> together(std::int64_t heads,
                            const std::function<reference::Matrix(std::int64_t)>& read_head) {
  std::vector<reference::Matrix> read;
  for (std::int64_t head = 0; head < heads; ++head) read.push_back(read_head(head));
  std::vector<float> values;
  for (Eigen::Index row = 0; row < read.front().rows(); ++row)
    for (const reference::Matrix& head : read)
      for (Eigen::Index dim = 0; dim < head.cols(); ++dim)
        values.push_back(static_cast<float>(head(row, dim)));
  return values;
}

// The cache's codes, without the scale.
std::vector<float> codes_of(KvTensorView view, const reference::SequenceRows& sequence) {
  view.scale = {};
  return together(view.num_kv_heads, [&](std::int64_t head) {
    return reference::gather_head(view, sequence.block_table_row, sequence.context_length, head);
  });
}

}  // namespace

std::string differing_text(const PagedAttentionInputs& inputs,
                           const PagedAttentionInputs& of_case) {
  const auto own = facts_of(inputs);
  const auto others = facts_of(of_case);
  std::string text;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].second == others[i].second) continue;
    text += fmt::format("  {:<11} {}, of the case {}\n", own[i].first, shortened(own[i].second),
                        shortened(others[i].second));
  }
  return text;
}

LawCase case_of(const PagedAttentionInputs& inputs, Placement placement) {
  const KvTensorView& k = inputs.kv.k;
  const KvTensorView& v = inputs.kv.v;
  placement.layout = k.layout;
  placement.block_size = k.block_size;
  AttentionProblem problem{.shape = {.num_q_heads = inputs.q.num_heads,
                                     .num_kv_heads = k.num_kv_heads,
                                     .head_dim_k = k.head_dim,
                                     .head_dim_v = v.head_dim,
                                     .q_type = inputs.q.type,
                                     .kv_type = k.type},
                           .options = options_as<OwnedAttentionOptions>(inputs.options),
                           .k_scales = scales_of(k),
                           .v_scales = scales_of(v),
                           .sequences = {}};
  for (const reference::SequenceRows& sequence : reference::sequences_of(inputs)) {
    const auto read_q = [&](std::int64_t head) {
      return reference::read_rows(inputs.q, head, sequence.first_row, sequence.num_rows);
    };
    problem.sequences.push_back({.num_rows = sequence.num_rows,
                                 .context_length = sequence.context_length,
                                 .q = together(inputs.q.num_heads, read_q),
                                 .k = codes_of(k, sequence),
                                 .v = codes_of(v, sequence)});
  }
  return {.problem = std::move(problem), .placement = placement};
}

}  // namespace recto::verify
