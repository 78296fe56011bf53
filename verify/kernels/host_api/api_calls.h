#pragma once

// Valid calls of every function of the host API, for tests that break them.

#include <kernel_dialect.h>

#include <cstdint>
#include <span>
#include <vector>

#include "core/attention_views.h"
#include "cuda/cache_ops.h"
#include "cuda/caller_shapes.h"
#include "verify/kernels/host_api/host_api_call.h"

namespace recto::verify {

inline constexpr std::int64_t kGathered = 54;  // 20, 1 and 33 tokens

inline MutableRowsView written_rows(DeviceCodes& codes, std::int64_t num_rows) {
  return dense_rows<void*>(codes.data(), kType, num_rows, kHeads, kDim);
}

// Contents are checked on the device. The views point into this object.
struct WalkCall {
  WalkCall() {
    api.step.rotary = {.dim = kDim, .cosines = angles(cosines), .sines = angles(sines)};
    for (AttentionOptions* options : {&api.inputs.options, &api.step.options}) {
      options->alibi_slopes = slopes;
      options->sinks = sinks;
    }
    api.plan = plan_attention(api.inputs, api.options).value();
    api.step_plan = plan_decode_step(api.step, api.options).value();
    make_caller_shapes();
    make_cache_ops();
  }
  WalkCall(const WalkCall&) = delete;
  WalkCall& operator=(const WalkCall&) = delete;

  // Everything that a call may write except its workspace.
  std::vector<std::uint16_t> written() {
    std::vector<std::uint16_t> codes = api.written();
    for (DeviceCodes* more : {&layer_k, &layer_v, &packed_k, &packed_v, &other_k, &other_v}) {
      for (std::int64_t i = 0; i < kPoolSize; ++i) codes.push_back((*more)[i]);
    }
    for (std::int64_t i = 0; i < kGathered * kHeads * kDim; ++i) {
      codes.insert(codes.end(), {gathered_k[i], gathered_v[i]});
    }
    return codes;
  }

  RowsView angles(DeviceCodes& codes) {
    return dense_rows<const void*>(codes.data(), kType, 48, 1, kDim / 2);
  }

  ApiCall api;
  std::vector<float> slopes = {0.5F, 0.25F, 0.125F, 0.0625F};
  std::vector<float> sinks = {0.0F, 1.0F, 2.0F, 3.0F};
  DeviceCodes cosines{48 * kDim / 2};
  DeviceCodes sines{48 * kDim / 2};
  DeviceCodes layer_k{kPoolSize};
  DeviceCodes layer_v{kPoolSize};
  DeviceCodes packed_k{kPoolSize};
  DeviceCodes packed_v{kPoolSize};
  DeviceCodes other_k{kPoolSize};
  DeviceCodes other_v{kPoolSize};
  DeviceCodes gathered_k{kGathered * kHeads * kDim};
  DeviceCodes gathered_v{kGathered * kHeads * kDim};
  std::vector<std::int64_t> slots = {3, 20, 40};
  std::vector<BlockPair> pairs = {{5, 0}, {5, 3}};
  std::vector<std::int64_t> starts = {0, 20, 21};

  LayeredCache cache;  // with one layer
  LayerRows layer_rows;
  std::int64_t layer = 0;
  AttentionPlan layer_plan;
  FlashAttnWithKvcache flash;
  AttentionPlan flash_plan;
  VllmPagedAttention vllm;
  AttentionPlan vllm_plan;
  KvWriteInputs write;
  kernels::RepeatedSlots repeated = kernels::RepeatedSlots::kNone;
  MutablePagedKvView copied;
  std::span<const BlockPair> copies;
  PagedKvView from;
  MutablePagedKvView to;
  GatherInputs gather;
  std::int64_t max_context_length = 48;
  CacheOpOptions options;

 private:
  void make_caller_shapes() {
    cache = {.k = layer_k.data(),
             .v = layer_v.data(),
             .type = kType,
             .num_layers = 1,
             .num_blocks = kBlocks,
             .num_heads = kHeads,
             .block_size = kBlockSize,
             .head_dim = kDim,
             .block_tables = api.batch.block_table.data(),
             .num_seqs = kSeqs,
             .max_blocks = kMaxBlocks,
             .cached_length = api.batch.cached};
    layer_rows = {.q = api.step.q, .new_k = api.step.new_k, .new_v = api.step.new_v};
    flash = {.q = api.step.q,
             .k_cache = api.step.kv.k,
             .v_cache = api.step.kv.v,
             .k = api.step.new_k,
             .v = api.step.new_v,
             .rotary_cos = angles(cosines),
             .rotary_sin = angles(sines),
             .cache_seqlens = api.batch.cached,
             .block_table = api.step.block_table,
             .alibi_slopes = slopes};
    const PagedKvView packed =
        as_const(pool_view(KvLayout::kPacked, kBlockSize, packed_k.data(), packed_v.data()));
    vllm = {.query = api.step.q,
            .key_cache = packed.k,
            .value_cache = packed.v,
            .scale = 0.125F,
            .block_tables = api.step.block_table,
            .seq_lens = api.batch.context_length,
            .alibi_slopes = slopes};
    layer_plan =
        plan_decode_step(step_of_layer(cache, 0, layer_rows, {}).value(), api.options).value();
    flash_plan = plan_decode_step(step_of(flash).value(), api.options).value();
    vllm_plan = plan_attention(inputs_of(vllm), api.options).value();
  }

  void make_cache_ops() {
    write = {.k = api.step.new_k, .v = api.step.new_v, .slot_mapping = slots, .kv = api.step.kv};
    copied = api.step.kv;
    copies = pairs;
    from = api.inputs.kv;
    to = pool_view(other_k, other_v);
    gather = {.kv = api.inputs.kv,
              .block_table = api.step.block_table,
              .context_length = api.batch.context_length,
              .context_start = starts,
              .k = written_rows(gathered_k, kGathered),
              .v = written_rows(gathered_v, kGathered)};
    options = {.contents_check = ContentsCheck::kOnDevice,
               .workspace = {.data = api.outputs.workspace.data(), .bytes = kContentsCheckBytes}};
  }
};

}  // namespace recto::verify
