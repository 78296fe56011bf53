// Bad input, field by field, in the shapes that engines use: messages name the fields of the call
// that they are converted to.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verify/kernels/host_api/bad_input_walk.h"

namespace recto::verify {
namespace {

const std::vector<std::string> kKinds = {"shape", "stride",     "type",
                                         "null",  "misaligned", "contents"};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST_CASE("a step of one layer refuses a wrong value in any field of the cache of all layers") {
  const FieldOf<LayeredCache> cache = RECTO_FIELD(LayeredCache, cache);
  using Cache = LayeredCache;
  Faults faults;
  const auto add = [&](const std::string& name, const std::string& kind, auto member, auto value,
                       const std::string& message) {
    faults.add(
        "cache." + name, kind, [=](WalkCall& c) { c.cache.*member = value; }, message);
  };
  constexpr std::int64_t kMany = std::int64_t{1} << 62;
  const std::string sizes = "cache: expected sizes of at least 0 and fewer than 2^63 bytes";
  add("k", "null", &Cache::k, nullptr, "kv.k.data: expected an address, got null");
  add("v", "null", &Cache::v, nullptr, "kv.v.data: expected an address, got null");
  add("type", "type", &Cache::type, static_cast<ElementType>(77), "kv.k.type: expected ");
  add("num_layers", "shape", &Cache::num_layers, 0, "layer: expected 0 to below num_layers = 0");
  add("num_layers", "shape", &Cache::num_layers, kMany, sizes);
  add("num_blocks", "shape", &Cache::num_blocks, -1, sizes);
  add("num_heads", "shape", &Cache::num_heads, 1, "new_k.num_heads: expected 1 as in ");
  add("block_size", "shape", &Cache::block_size, 3, "kv.k.block_size: expected a power of two");
  add("head_dim", "shape", &Cache::head_dim, 32, "q.head_dim: expected 32 as in kv.k.head_dim");
  add("block_tables", "null", &Cache::block_tables, nullptr, "block_table.data: expected ");
  add("num_seqs", "shape", &Cache::num_seqs, 2,
      "q.num_rows: expected 2 as in block_table.num_seqs");
  add("num_seqs", "shape", &Cache::num_seqs, kMany, sizes);
  add("max_blocks", "shape", &Cache::max_blocks, kMany, sizes);
  add("max_blocks", "contents", &Cache::max_blocks, 1,
      "cached_length[0] + 1: expected at most block_table.max_blocks * kv.k.block_size = 16");
  faults.add_span({"cache.cached_length", "cached_length"},
                  RECTO_FIELD(std::span<const std::int32_t>, cache.cached_length));
  faults.add(
      "layer", "shape", [](auto& c) { c.layer = -1; }, "layer: expected 0 to below ");
  faults.add_rows({"q", "q"}, RECTO_FIELD(RowsView, layer_rows.q));
  faults.add_rows({"new_k", "new_k"}, RECTO_FIELD(RowsView, layer_rows.new_k));
  faults.add_rows({"new_v", "new_v"}, RECTO_FIELD(RowsView, layer_rows.new_v));
  const auto run = [](WalkCall& c, simt::Stream& stream) {
    const Result<DecodeStep> step = step_of_layer(c.cache, c.layer, c.layer_rows, {});
    RECTO_RETURN_IF_ERROR(step.status());
    return run_decode_step(c.layer_plan, step.value(), c.api.attention, c.api.workspace, &stream);
  };
  const LeafWalk w;
  walk({.run = run,
        .fields =
            joined({leaves(w, "cache", LayeredCache()), leaves(w, "", LayerRows()), {"layer"}}),
        .free = {},
        .kinds = kKinds},
       faults);
}

void add_flash_scalars(Faults& faults) {
  faults.add(
      "softmax_scale", "shape", [](auto& c) { c.flash.softmax_scale = kNan; },
      "options.scale: expected a finite number");
  faults.add(
      "window_left", "shape", [](auto& c) { c.flash.window_left = -1; },
      "window_left: expected at least 0, got -1");
  faults.add(
      "softcap", "shape", [](auto& c) { c.flash.softcap = -1; },
      "options.softcap: expected at least 0, got -1");
  faults.add(
      "rotary_pairing", "type",
      [](auto& c) { c.flash.rotary_pairing = static_cast<kernels::RotaryPairing>(2); },
      "rotary.pairing: expected one of RotaryPairing, got 2");
  faults.add(
      "k.data", "null", [](auto& c) { c.flash.k = c.flash.v = {}; },
      "k.data, v.data: expected new tokens; a call without new tokens uses inputs_of() and "
      "run_attention(), got null");
  faults.add(
      "block_table.data", "contents", [](auto& c) { c.api.batch.block_table[0] = -1; },
      "block_table[0][0]: expected a block id");
}

TEST_CASE("flash_attn_with_kvcache refuses a wrong value in any of its arguments") {
  Faults faults;
  faults.add_rows({"q", "q"}, RECTO_FIELD(RowsView, flash.q));
  faults.add_cache({"k_cache", "kv.k"}, RECTO_FIELD(MutableKvTensorView, flash.k_cache));
  faults.add_cache({"v_cache", "kv.v"}, RECTO_FIELD(MutableKvTensorView, flash.v_cache));
  faults.add_rows({"k", "new_k"}, RECTO_FIELD(RowsView, flash.k));
  faults.add_rows({"v", "new_v"}, RECTO_FIELD(RowsView, flash.v));
  faults.add_rows({"rotary_cos", "rotary.cosines"}, RECTO_FIELD(RowsView, flash.rotary_cos));
  faults.say("rotary_cos.head_dim", "rotary_cos.head_dim: expected at least 1, got 0");
  faults.add_rows({"rotary_sin", "rotary.sines"}, RECTO_FIELD(RowsView, flash.rotary_sin));
  faults.say("q.head_dim", "rotary_cos.head_dim: expected at most 0, got 32");
  faults.add_span({"cache_seqlens", "cached_length"},
                  RECTO_FIELD(std::span<const std::int32_t>, flash.cache_seqlens));
  faults.add_table({"block_table", "block_table"}, RECTO_FIELD(BlockTableView, flash.block_table));
  faults.add_span({"alibi_slopes", "options.alibi_slopes"},
                  RECTO_FIELD(std::span<const float>, flash.alibi_slopes));
  add_flash_scalars(faults);
  const auto run = [](WalkCall& c, simt::Stream& stream) {
    const Result<DecodeStep> step = step_of(c.flash);
    RECTO_RETURN_IF_ERROR(step.status());
    return run_decode_step(c.flash_plan, step.value(), c.api.attention, c.api.workspace, &stream);
  };
  walk({.run = run,
        .fields = leaves(LeafWalk(), "", FlashAttnWithKvcache()),
        .free = {},
        .kinds = kKinds},
       faults);
}

TEST_CASE("paged_attention of vLLM refuses a wrong value in any of its arguments") {
  Faults faults;
  faults.add_rows({"query", "q"}, RECTO_FIELD(RowsView, vllm.query));
  faults.add_cache({"key_cache", "kv.k"}, RECTO_FIELD(KvTensorView, vllm.key_cache));
  faults.add_cache({"value_cache", "kv.v"}, RECTO_FIELD(KvTensorView, vllm.value_cache));
  faults.add_table({"block_tables", "block_table"}, RECTO_FIELD(BlockTableView, vllm.block_tables));
  faults.add_span({"seq_lens", "context_length"},
                  RECTO_FIELD(std::span<const std::int32_t>, vllm.seq_lens));
  faults.add_span({"alibi_slopes", "options.alibi_slopes"},
                  RECTO_FIELD(std::span<const float>, vllm.alibi_slopes));
  faults.add(
      "scale", "shape", [](auto& c) { c.vllm.scale = kNan; },
      "options.scale: expected a finite number");
  faults.add(
      "seq_lens.data", "contents", [](auto& c) { c.api.batch.context_length[1] = -4; },
      "context_length[1]: expected at least 0, got -4");
  const auto run = [](WalkCall& c, simt::Stream& stream) {
    return run_attention(c.vllm_plan, inputs_of(c.vllm), c.api.attention, c.api.workspace, &stream);
  };
  walk({.run = run,
        .fields = leaves(LeafWalk(), "", VllmPagedAttention()),
        .free = {},
        .kinds = kKinds},
       faults);
}

}  // namespace
}  // namespace recto::verify
