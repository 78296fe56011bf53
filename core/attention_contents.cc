// The second gate checks what tables, lengths, slots, scales, slopes and sinks hold.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "core/attention_gate.h"
#include "core/refusal.h"

namespace recto {
namespace {

Status check_query_start(std::span<const std::int32_t> query_start, std::int64_t num_rows) {
  if (query_start.empty()) return Status::ok();  // one row for each sequence
  if (query_start.front() != 0) {
    return refusal("query_start[0]", "0", std::to_string(query_start.front()));
  }
  for (std::size_t i = 1; i < query_start.size(); ++i) {
    if (query_start[i] >= query_start[i - 1]) continue;
    return refusal(element_name("query_start", static_cast<std::int64_t>(i)),
                   fmt::format("at least {} (the entry before it)", query_start[i - 1]),
                   std::to_string(query_start[i]));
  }
  if (query_start.back() == num_rows) return Status::ok();
  return refusal(element_name("query_start", std::ssize(query_start) - 1),
                 fmt::format("q.num_rows = {} at the end", num_rows),
                 std::to_string(query_start.back()));
}

struct CachedContexts {
  const char* name;  // the field that holds the lengths
  std::span<const std::int32_t> lengths;
  std::int32_t new_tokens;  // tokens of each sequence that are outside the cache
  const BlockTableView& table;
  const KvTensorView& k;
};

// Checks that a context fits its row of the table, and that its blocks are in the cache.
Status check_context(const CachedContexts& contexts, std::int64_t seq) {
  const BlockTableView& table = contexts.table;
  const std::int64_t block_size = contexts.k.block_size;
  const std::int64_t length = contexts.lengths[static_cast<std::size_t>(seq)];
  if (length < 0)
    return refusal(element_name(contexts.name, seq), "at least 0", std::to_string(length));
  const std::int64_t length_max = std::numeric_limits<std::int32_t>::max() - contexts.new_tokens;
  if (length > length_max) {
    return refusal(
        element_name(contexts.name, seq),
        fmt::format("at most {}, so that {} more fit in 32 bits", length_max, contexts.new_tokens),
        std::to_string(length));
  }
  const std::int64_t blocks = length / block_size + (length % block_size == 0 ? 0 : 1);
  if (blocks > table.max_blocks) {
    return refusal(element_name(contexts.name, seq),
                   fmt::format("at most block_table.max_blocks x kv.k.block_size = {} x {}",
                               table.max_blocks, block_size),
                   std::to_string(length));
  }
  const std::int32_t* row = table.data + seq * table.row_stride;
  for (std::int64_t i = 0; i < blocks; ++i) {
    if (row[i] >= 0 && row[i] < contexts.k.num_blocks) continue;
    return refusal(
        fmt::format("block_table[{}][{}]", seq, i),
        fmt::format("a block id of at least 0, below kv.k.num_blocks = {}", contexts.k.num_blocks),
        std::to_string(row[i]));
  }
  return Status::ok();
}

Status check_contexts(const CachedContexts& contexts) {
  for (std::int64_t seq = 0; seq < contexts.table.num_seqs; ++seq) {
    RECTO_RETURN_IF_ERROR(check_context(contexts, seq));
  }
  return Status::ok();
}

Status expect_each(const char* list, std::span<const float> values, bool (*is_good)(float),
                   const char* expected) {
  const auto bad = std::ranges::find_if_not(values, is_good);
  if (bad == values.end()) return Status::ok();
  return refusal(element_name(list, bad - values.begin()), expected, fmt::format("{}", *bad));
}

std::span<const float> factors_of(const KvTensorView& view) {
  const std::size_t sizes[] = {0, 1, static_cast<std::size_t>(view.num_kv_heads)};
  return {view.scale.data, sizes[static_cast<int>(view.scale.kind)]};
}

Status check_scale(const char* name, const KvTensorView& view) {
  return expect_each(
      name, factors_of(view), [](float scale) { return std::isfinite(scale) && scale > 0; },
      "a finite number above 0");
}

Status check_scales(const PagedKvView& kv) {
  RECTO_RETURN_IF_ERROR(check_scale("kv.k.scale", kv.k));
  return check_scale("kv.v.scale", kv.v);
}

Status check_head_options(const AttentionOptions& options) {
  RECTO_RETURN_IF_ERROR(expect_each(
      "options.alibi_slopes", options.alibi_slopes,
      [](float slope) { return std::isfinite(slope); }, "a finite number"));
  return expect_each(
      "options.sinks", options.sinks,
      [](float sink) { return sink < std::numeric_limits<float>::infinity(); },  // false for NaN
      "a finite number or -inf");
}

// Checks what attention's tables, lengths and options hold, once shapes are right.
Status check_held(const PagedAttentionInputs& inputs) {
  RECTO_RETURN_IF_ERROR(check_query_start(inputs.query_start, inputs.q.num_rows));
  RECTO_RETURN_IF_ERROR(check_contexts(
      {"context_length", inputs.context_length, 0, inputs.block_table, inputs.kv.k}));
  RECTO_RETURN_IF_ERROR(check_scales(inputs.kv));
  return check_head_options(inputs.options);
}

Status check_held(const DecodeStepInputs& inputs) {
  RECTO_RETURN_IF_ERROR(
      check_contexts({"cached_length", inputs.cached_length, 1, inputs.block_table, inputs.kv.k}));
  RECTO_RETURN_IF_ERROR(check_scales(inputs.kv));
  return check_head_options(inputs.options);
}

// Rows [context_start, context_start + context_length) of each sequence must lie within the output,
// and overlap no others.
Status check_context_rows(const GatherInputs& inputs) {
  struct Rows {
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::size_t seq = 0;
  };
  std::vector<Rows> all;
  for (std::size_t seq = 0; seq < inputs.context_start.size(); ++seq) {
    const std::int64_t start = inputs.context_start[seq];
    const std::int64_t length = inputs.context_length[seq];
    if (start < 0 || start > inputs.k.num_rows - length) {
      return refusal(element_name("context_start", static_cast<std::int64_t>(seq)),
                     fmt::format("0 ... k.num_rows - context_length[{}] = {} - {}", seq,
                                 inputs.k.num_rows, length),
                     std::to_string(start));
    }
    if (length > 0) all.push_back({start, start + length, seq});
  }
  std::ranges::sort(all, {}, &Rows::start);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Rows& before = all[i - 1];
    if (all[i].start >= before.end) continue;
    return refusal(element_name("context_start", static_cast<std::int64_t>(all[i].seq)),
                   fmt::format("rows apart from those of sequence {}, {} ... {}", before.seq,
                               before.start, before.end - 1),
                   std::to_string(all[i].start));
  }
  return Status::ok();
}

// A copied code keeps its meaning only under the same scale: both scales must be of the same kind,
// equal, and valid.
Status check_equal_scales(const char* name, const KvTensorView& from, const KvTensorView& to) {
  for (std::int64_t i = 0; i < std::ssize(factors_of(to)); ++i) {
    if (to.scale.data[i] == from.scale.data[i]) continue;
    return refusal(element_name(fmt::format("to.{}", name), i),
                   fmt::format("{} as in from.{}[{}]", from.scale.data[i], name, i),
                   fmt::format("{}", to.scale.data[i]));
  }
  return Status::ok();
}

Status check_block_id(std::size_t copy, const Named<std::int32_t>& block,
                      const NamedSize& num_blocks) {
  if (block.value >= 0 && block.value < num_blocks.value) return Status::ok();
  return refusal(
      fmt::format("copies[{}].{}", copy, block.field),
      fmt::format("a block id of at least 0, below {} = {}", num_blocks.name(), num_blocks.value),
      block.text());
}

// Maps each written block to the pair that writes it.
using Destinations = std::unordered_map<std::int32_t, std::size_t>;

Status check_destinations(std::span<const BlockPair> copies, Destinations& destinations) {
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto [first, is_new] = destinations.try_emplace(copies[i].destination, i);
    if (is_new) continue;
    return refusal(fmt::format("copies[{}].destination", i),
                   fmt::format("a block other than that of copies[{}]", first->second),
                   std::to_string(copies[i].destination));
  }
  return Status::ok();
}

Status check_block_ids(std::span<const BlockPair> copies, const NamedSize& source_blocks,
                       const NamedSize& destination_blocks) {
  for (std::size_t i = 0; i < copies.size(); ++i) {
    RECTO_RETURN_IF_ERROR(check_block_id(i, {"", "source", copies[i].source}, source_blocks));
    RECTO_RETURN_IF_ERROR(
        check_block_id(i, {"", "destination", copies[i].destination}, destination_blocks));
  }
  return Status::ok();
}

}  // namespace

Status check_contents(const PagedAttentionInputs& inputs) {
  RECTO_RETURN_IF_ERROR(check_shapes(inputs));
  return check_held(inputs);
}

Status check_contents(const PagedAttentionInputs& inputs, const AttentionOutputs& outputs) {
  RECTO_RETURN_IF_ERROR(check_shapes(inputs, outputs));
  return check_held(inputs);
}

Status check_contents(const DecodeStepInputs& inputs) {
  RECTO_RETURN_IF_ERROR(check_shapes(inputs));
  return check_held(inputs);
}

Status check_contents(const DecodeStepInputs& inputs, const AttentionOutputs& outputs) {
  RECTO_RETURN_IF_ERROR(check_shapes(inputs, outputs));
  return check_held(inputs);
}

Status check_contents(const GatherInputs& inputs) {
  RECTO_RETURN_IF_ERROR(check_shapes(inputs));
  RECTO_RETURN_IF_ERROR(check_contexts(
      {"context_length", inputs.context_length, 0, inputs.block_table, inputs.kv.k}));
  RECTO_RETURN_IF_ERROR(check_scales(inputs.kv));
  return check_context_rows(inputs);
}

Status check_contents(const KvWriteInputs& inputs) {
  RECTO_RETURN_IF_ERROR(check_shapes(inputs));
  const KvTensorView k = as_const(inputs.kv.k);
  const std::int64_t num_slots = k.num_blocks * k.block_size;
  for (std::size_t token = 0; token < inputs.slot_mapping.size(); ++token) {
    const std::int64_t slot = inputs.slot_mapping[token];
    if (slot >= -1 && slot < num_slots) continue;
    return refusal(fmt::format("slot_mapping[{}]", token),
                   fmt::format("-1, or a slot id below kv.k.num_blocks x kv.k.block_size = {} x {}",
                               k.num_blocks, k.block_size),
                   std::to_string(slot));
  }
  return check_scales(as_const(inputs.kv));
}

Status check_contents(const MutablePagedKvView& kv, std::span<const BlockPair> copies) {
  RECTO_RETURN_IF_ERROR(check_shapes(kv, copies));
  const NamedSize num_blocks{"kv.k", "num_blocks", kv.k.num_blocks};
  RECTO_RETURN_IF_ERROR(check_block_ids(copies, num_blocks, num_blocks));
  Destinations destinations;
  RECTO_RETURN_IF_ERROR(check_destinations(copies, destinations));
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto writer = destinations.find(copies[i].source);
    if (writer == destinations.end()) continue;
    return refusal(
        fmt::format("copies[{}].source", i),
        fmt::format("a block that no copy writes (copies[{}] writes it)", writer->second),
        std::to_string(copies[i].source));
  }
  return Status::ok();
}

Status check_contents(const PagedKvView& from, const MutablePagedKvView& to,
                      std::span<const BlockPair> copies) {
  RECTO_RETURN_IF_ERROR(check_shapes(from, to, copies));
  RECTO_RETURN_IF_ERROR(check_scale("from.k.scale", from.k));
  RECTO_RETURN_IF_ERROR(check_scale("from.v.scale", from.v));
  RECTO_RETURN_IF_ERROR(check_equal_scales("k.scale", from.k, as_const(to.k)));
  RECTO_RETURN_IF_ERROR(check_equal_scales("v.scale", from.v, as_const(to.v)));
  RECTO_RETURN_IF_ERROR(check_block_ids(copies, {"from.k", "num_blocks", from.k.num_blocks},
                                        {"to.k", "num_blocks", to.k.num_blocks}));
  Destinations destinations;
  return check_destinations(copies, destinations);
}

}  // namespace recto
