#pragma once

// The fields of the host API's parameters, by name down to the leaves, for a test that checks that
// each has a fault. A field added to a struct does not compile here until it is named.

#include <cstdint>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "cuda/attention_plan.h"
#include "cuda/cache_ops.h"
#include "cuda/caller_shapes.h"
#include "cuda/decode_step.h"
#include "cuda/workspace.h"

namespace recto::verify {

using Leaves = std::vector<std::string>;

// A tag type, so that argument-dependent lookup finds overloads wherever they are declared.
struct LeafWalk {};

template <typename T>
requires(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>) Leaves
    leaves(LeafWalk, const std::string& name, const T& /*value*/) {
  return {name};
}
template <typename T>
Leaves leaves(LeafWalk, const std::string& name, const std::optional<T>& /*value*/) {
  return {name};
}
template <typename T>
Leaves leaves(LeafWalk, const std::string& name, const std::span<T>& /*value*/) {
  return {name + ".data", name + ".size"};
}

// `names` are the names of the fields, separated by commas.
template <typename... Fields>
Leaves leaves_of_fields(const std::string& prefix, const char* names, const Fields&... fields) {
  std::istringstream all(names);
  Leaves found;
  const auto add = [&](const auto& field) {
    std::string name;
    std::getline(all >> std::ws, name, ',');
    const Leaves own = leaves(LeafWalk(), prefix.empty() ? name : prefix + "." + name, field);
    found.insert(found.end(), own.begin(), own.end());
  };
  (add(fields), ...);
  return found;
}

#define RECTO_LEAVES(Type, ...)                                                  \
  inline Leaves leaves(LeafWalk, const std::string& prefix, const Type& value) { \
    const auto& [__VA_ARGS__] = value;                                           \
    return leaves_of_fields(prefix, #__VA_ARGS__, __VA_ARGS__);                  \
  }

RECTO_LEAVES(RowsView, data, type, num_rows, num_heads, head_dim, row_stride, head_stride)
RECTO_LEAVES(MutableRowsView, data, type, num_rows, num_heads, head_dim, row_stride, head_stride)
RECTO_LEAVES(KvScale, kind, data)
RECTO_LEAVES(KvTensorView, data, type, layout, num_blocks, block_size, num_kv_heads, head_dim,
             block_stride, head_stride, slot_stride, pack_width, pack_stride, scale)
RECTO_LEAVES(MutableKvTensorView, data, type, layout, num_blocks, block_size, num_kv_heads,
             head_dim, block_stride, head_stride, slot_stride, pack_width, pack_stride, scale)
RECTO_LEAVES(PagedKvView, k, v)
RECTO_LEAVES(MutablePagedKvView, k, v)
RECTO_LEAVES(BlockTableView, data, num_seqs, max_blocks, row_stride)
RECTO_LEAVES(AttentionOptions, scale, softcap, causal, window, alibi_slopes, sinks)
RECTO_LEAVES(PagedAttentionInputs, q, kv, block_table, query_start, context_length, options)
RECTO_LEAVES(AttentionOutputs, out, lse_ln)
RECTO_LEAVES(KvWriteInputs, k, v, slot_mapping, kv)
RECTO_LEAVES(GatherInputs, kv, block_table, context_length, context_start, k, v)
RECTO_LEAVES(AttentionPlan, kernel, split_rule, split_size, num_splits, max_context_length,
             max_query_length, contents_check, workspace_bytes)
RECTO_LEAVES(PlanOptions, max_context_length, max_query_length, num_multiprocessors,
             batch_invariance, contents_check, kernel, split_size)
RECTO_LEAVES(Workspace, data, bytes)
RECTO_LEAVES(CacheOpOptions, contents_check, workspace)
RECTO_LEAVES(kernels::Rotary, dim, pairing, cosines, sines)
RECTO_LEAVES(DecodeStep, q, new_k, new_v, kv, block_table, cached_length, rotary, options)
RECTO_LEAVES(LayeredCache, k, v, type, num_layers, num_blocks, num_heads, block_size, head_dim,
             block_tables, num_seqs, max_blocks, cached_length)
RECTO_LEAVES(LayerRows, q, new_k, new_v)
RECTO_LEAVES(FlashAttnWithKvcache, q, k_cache, v_cache, k, v, rotary_cos, rotary_sin, cache_seqlens,
             block_table, softmax_scale, window_left, softcap, rotary_pairing, alibi_slopes)
RECTO_LEAVES(VllmPagedAttention, query, key_cache, value_cache, scale, block_tables, seq_lens,
             alibi_slopes)

#undef RECTO_LEAVES

}  // namespace recto::verify
