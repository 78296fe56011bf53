#pragma once

// Converts the call shapes of other engines to those of decode_step.h and paged_attention.h. Copies
// no data; the same gates check all of them. Pointers are to device memory.

#include <kernel_dialect.h>

#include <cstdint>
#include <optional>
#include <span>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"
#include "cuda/attention_plan.h"
#include "cuda/decode_step.h"
#include "cuda/kernels/kv_append.h"

namespace recto {

// The caches of all layers in one buffer for K and one for V, with a block table for each layer.
// The newest token is outside the cache.
struct LayeredCache {
  void* k = nullptr;  // [num_layers, num_blocks, num_heads, block_size, head_dim]
  void* v = nullptr;  // the same
  ElementType type = ElementType::kFp16;
  std::int64_t num_layers = 0;
  std::int64_t num_blocks = 0;
  std::int64_t num_heads = 0;
  std::int64_t block_size = 0;
  std::int64_t head_dim = 0;
  const std::int32_t* block_tables = nullptr;  // [num_layers, num_seqs, max_blocks]
  std::int64_t num_seqs = 0;
  std::int64_t max_blocks = 0;
  std::span<const std::int32_t> cached_length = {};  // [num_seqs]
};

// One layer's rows: one token of each sequence.
struct LayerRows {
  RowsView q = {};      // [num_seqs, num_q_heads, head_dim]
  RowsView new_k = {};  // [num_seqs, num_heads, head_dim]
  RowsView new_v = {};  // the same
};

// Invalid input: the layer does not exist, or a product of sizes overflows.
Result<DecodeStep> step_of_layer(const LayeredCache& cache, std::int64_t layer,
                                 const LayerRows& rows, const AttentionOptions& options);

// The parameters of FlashAttention's flash_attn_with_kvcache(), under its names, for one query row
// per sequence.
struct FlashAttnWithKvcache {
  RowsView q = {};  // [batch_size, nheads, headdim]: seqlen 1
  // [num_blocks, page_block_size, nheads_k, headdim]
  MutableKvTensorView k_cache = {};
  MutableKvTensorView v_cache = {};
  RowsView k = {};           // [batch_size, nheads_k, headdim]: seqlen_new 1; or no data
  RowsView v = {};           // the same
  RowsView rotary_cos = {};  // [seqlen_ro, 1, rotary_dim / 2], or no data; only with k and v
  RowsView rotary_sin = {};
  std::span<const std::int32_t> cache_seqlens = {};  // [batch_size]
  BlockTableView block_table = {};                   // padded with -1
  std::optional<float> softmax_scale = {};           // none: 1 / sqrt(headdim)
  std::optional<std::int64_t> window_left = {};      // keys seen before the query's own; none: all
  float softcap = 0.0F;
  kernels::RotaryPairing rotary_pairing = kernels::RotaryPairing::kInterleaved;
  std::span<const float> alibi_slopes = {};  // [nheads], or empty
};
// For calls with k and v: inputs of run_decode_step(). Invalid input: there is neither k nor v, or
// window_left is negative.
Result<DecodeStep> step_of(const FlashAttnWithKvcache& call);
// For calls without k and v: inputs of run_attention(); cache_seqlens count all tokens. Invalid
// input: k, v, rotary_cos or rotary_sin are given, or window_left is negative.
Result<PagedAttentionInputs> inputs_of(const FlashAttnWithKvcache& call);

// The parameters of paged_attention_v1() and paged_attention_v2() of vLLM v0, under its names.
struct VllmPagedAttention {
  RowsView query = {};            // [num_seqs, num_heads, head_size]
  KvTensorView key_cache = {};    // [num_blocks, num_kv_heads, head_size / x, block_size, x]
  KvTensorView value_cache = {};  // [num_blocks, num_kv_heads, head_size, block_size]
  float scale = 1.0F;
  BlockTableView block_tables = {};             // [num_seqs, max_num_blocks_per_seq]
  std::span<const std::int32_t> seq_lens = {};  // [num_seqs], this step's token included
  std::span<const float> alibi_slopes = {};     // [num_heads], or empty
};
PagedAttentionInputs inputs_of(const VllmPagedAttention& call);

// v1: one thread block processes the whole context of a (sequence, head). v2: partitions of 512
// keys, followed by a reduction.
enum class VllmVersion : std::uint8_t { kV1, kV2 };
PlanOptions plan_options(VllmVersion version, std::int64_t max_seq_len);

}  // namespace recto
