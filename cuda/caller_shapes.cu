#include "cuda/caller_shapes.h"

#include <kernel_dialect.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "core/refusal.h"

namespace recto {
namespace {

constexpr std::int64_t kPartitionSize = 512;

MutableKvTensorView layer_view(const LayeredCache& cache, void* data, std::int64_t layer) {
  const std::int64_t block_stride = cache.num_heads * cache.block_size * cache.head_dim;
  auto* bytes = static_cast<std::byte*>(data);
  if (bytes != nullptr) {
    bytes += layer * cache.num_blocks * block_stride * element_bytes(cache.type);
  }
  return {.data = bytes,
          .type = cache.type,
          .layout = KvLayout::kHeadMajor,
          .num_blocks = cache.num_blocks,
          .block_size = cache.block_size,
          .num_kv_heads = cache.num_heads,
          .head_dim = cache.head_dim,
          .block_stride = block_stride,
          .head_stride = cache.block_size * cache.head_dim,
          .slot_stride = cache.head_dim};
}

// Whether the bytes of all layers, and the entries of their tables, can be counted without
// overflow.
bool has_sizes(const LayeredCache& cache) {
  std::int64_t bytes = element_bytes(cache.type);
  for (const std::int64_t size :
       {cache.num_layers, cache.num_blocks, cache.num_heads, cache.block_size, cache.head_dim}) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) return false;
  }
  std::int64_t entries = cache.num_layers;
  return cache.num_seqs >= 0 && cache.max_blocks >= 0 &&
         !__builtin_mul_overflow(entries, cache.num_seqs, &entries) &&
         !__builtin_mul_overflow(entries, cache.max_blocks, &entries);
}

// A batch without rows has no tokens in either form.
bool is_without_tokens(const FlashAttnWithKvcache& call) {
  return call.q.num_rows != 0 && call.k.data == nullptr && call.v.data == nullptr;
}

Result<AttentionOptions> options_of(const FlashAttnWithKvcache& call) {
  const auto root = static_cast<float>(1 / std::sqrt(static_cast<double>(call.q.head_dim)));
  AttentionOptions options = {.scale = call.softmax_scale.value_or(root),
                              .softcap = call.softcap,
                              .alibi_slopes = call.alibi_slopes};
  if (!call.window_left) return options;
  RECTO_RETURN_IF_ERROR(expect_at_least({"", "window_left", *call.window_left}, 0));
  // The widest window that can be expressed excludes no key.
  if (*call.window_left < std::numeric_limits<std::int64_t>::max()) {
    options.window = *call.window_left + 1;
  }
  return options;
}

}  // namespace

Result<DecodeStep> step_of_layer(const LayeredCache& cache, std::int64_t layer,
                                 const LayerRows& rows, const AttentionOptions& options) {
  if (layer < 0 || layer >= cache.num_layers) {
    return refusal("layer", "0 to below num_layers = " + std::to_string(cache.num_layers),
                   std::to_string(layer));
  }
  if (!has_sizes(cache)) {
    return refusal("cache", "sizes of at least 0 and fewer than 2^63 bytes in all layers",
                   std::to_string(cache.num_layers) + " x " + std::to_string(cache.num_blocks) +
                       " x " + std::to_string(cache.num_heads) + " x " +
                       std::to_string(cache.block_size) + " x " + std::to_string(cache.head_dim));
  }
  const std::int32_t* table = cache.block_tables;
  if (table != nullptr) table += layer * cache.num_seqs * cache.max_blocks;
  return DecodeStep{.q = rows.q,
                    .new_k = rows.new_k,
                    .new_v = rows.new_v,
                    .kv = {layer_view(cache, cache.k, layer), layer_view(cache, cache.v, layer)},
                    .block_table = {.data = table,
                                    .num_seqs = cache.num_seqs,
                                    .max_blocks = cache.max_blocks,
                                    .row_stride = cache.max_blocks},
                    .cached_length = cache.cached_length,
                    .options = options};
}

Result<DecodeStep> step_of(const FlashAttnWithKvcache& call) {
  if (is_without_tokens(call)) {
    return refusal("k.data, v.data",
                   "new tokens; a call without new tokens uses inputs_of() and run_attention()",
                   "null");
  }
  const Result<AttentionOptions> options = options_of(call);
  RECTO_RETURN_IF_ERROR(options.status());
  DecodeStep step = {.q = call.q,
                     .new_k = call.k,
                     .new_v = call.v,
                     .kv = {call.k_cache, call.v_cache},
                     .block_table = call.block_table,
                     .cached_length = call.cache_seqlens,
                     .options = options.value()};
  if (call.rotary_cos.data != nullptr || call.rotary_sin.data != nullptr) {
    // With 0 dims, nothing would be rotated.
    const NamedSize pairs("rotary_cos", "head_dim", call.rotary_cos.head_dim);
    RECTO_RETURN_IF_ERROR(expect_at_least(pairs, 1));
    RECTO_RETURN_IF_ERROR(expect_at_most(pairs, call.q.head_dim / 2));
    step.rotary = {.dim = 2 * call.rotary_cos.head_dim,
                   .pairing = call.rotary_pairing,
                   .cosines = call.rotary_cos,
                   .sines = call.rotary_sin};
  }
  return step;
}

Result<PagedAttentionInputs> inputs_of(const FlashAttnWithKvcache& call) {
  for (const auto& [field, view] : {std::pair("k.data", &call.k),
                                    {"v.data", &call.v},
                                    {"rotary_cos.data", &call.rotary_cos},
                                    {"rotary_sin.data", &call.rotary_sin}}) {
    if (view->data == nullptr) continue;
    return refusal(field, "null; a call with new tokens uses step_of() and run_decode_step()",
                   "an address");
  }
  const Result<AttentionOptions> options = options_of(call);
  RECTO_RETURN_IF_ERROR(options.status());
  return PagedAttentionInputs{.q = call.q,
                              .kv = as_const({call.k_cache, call.v_cache}),
                              .block_table = call.block_table,
                              .context_length = call.cache_seqlens,
                              .options = options.value()};
}

PagedAttentionInputs inputs_of(const VllmPagedAttention& call) {
  return {.q = call.query,
          .kv = {call.key_cache, call.value_cache},
          .block_table = call.block_tables,
          .context_length = call.seq_lens,
          .options = {.scale = call.scale, .alibi_slopes = call.alibi_slopes}};
}

PlanOptions plan_options(VllmVersion version, std::int64_t max_seq_len) {
  PlanOptions options = {.max_context_length = max_seq_len};
  options.split_size =
      version == VllmVersion::kV1 ? std::max<std::int64_t>(1, max_seq_len) : kPartitionSize;
  return options;
}

}  // namespace recto
