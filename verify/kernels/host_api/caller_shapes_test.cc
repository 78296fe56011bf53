// The shapes of engines (cuda/caller_shapes.h) on the executor, compared with the reference on a
// copy of their caches that this test makes element by element, with its own index formulas.

#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/dense_kv_view.h"
#include "cuda/caller_shapes.h"
#include "cuda/paged_attention.h"
#include "reference/error_bound.h"
#include "reference/rounding.h"
#include "verify/comparison.h"
#include "verify/kernels/host_api/caller_batch.h"
#include "verify/kernels/kernel_numerics.h"
#include "verify/simt/executor/executor.h"

namespace recto::verify {
namespace {

void expect_right(const PagedAttentionInputs& inputs, const AttentionPlan& plan,
                  CallerOutputs& outputs) {
  reference::AttentionResult seen(kSeqs, kQHeads, kDim);
  reference::decode_row(outputs.out.data(), kType, seen.out);
  seen.lse_ln.assign(outputs.lse_ln.begin(), outputs.lse_ln.end());
  const reference::KernelNumerics numerics = in_planned_splits(
      plan.kernel == AttentionKernel::kReferenceDecode
          ? decode_kernel_numerics(kType, kType, plan.num_splits == 1 ? 0 : plan.split_size)
          : gqa_decode_numerics(kType, kType, plan.split_size),
      plan);
  const reference::BoundedResult oracle = reference::bounded_attention(inputs, numerics);
  const Comparison comparison = compare(inputs, seen, oracle.exact, oracle.probabilistic);
  INFO(comparison.text());
  CHECK(comparison.passed());
}

AttentionPlan run_step(const DecodeStep& step, CallerOutputs& outputs, const AttentionPlan& plan) {
  simt::Executor executor({});
  simt::Stream stream(executor);
  REQUIRE(run_decode_step(plan, step, outputs.views(), outputs.memory(plan), &stream) ==
          Status::ok());
  const simt::LaunchReport& report = stream.synchronise();
  INFO(report.text());
  REQUIRE(report.passed());
  return plan;
}

PagedAttentionInputs inputs_over(const CacheCopy& copy, CallerBatch& batch, const RowsView& q,
                                 const AttentionOptions& options) {
  return {.q = q,
          .kv = copy.view,
          .block_table = batch.table(),
          .query_start = batch.query_start,
          .context_length = batch.context_length,
          .options = options};
}

constexpr std::int32_t kLayers = 3;

// Layer l's ids are those of layer 0, rotated by l.
std::vector<std::int32_t> tables_of_layers(const CallerBatch& batch) {
  std::vector<std::int32_t> tables;
  for (std::int32_t layer = 0; layer < kLayers; ++layer) {
    for (const std::int32_t id : batch.block_table) {
      tables.push_back(id < 0 ? id : static_cast<std::int32_t>((id + layer) % kBlocks));
    }
  }
  return tables;
}

TEST_CASE("one cache of all layers, with a block table for each, gives the reference's results") {
  constexpr std::int64_t kBlockSize = 16;
  constexpr std::int64_t kLayerSize = kBlocks * kHeads * kBlockSize * kDim;
  CallerBatch batch(kBlockSize);
  DeviceCodes k(kLayers * kLayerSize);
  DeviceCodes v(kLayers * kLayerSize);
  k.draw(batch.random);
  v.draw(batch.random);
  const std::vector<std::int32_t> tables = tables_of_layers(batch);
  const LayeredCache cache = {.k = k.data(),
                              .v = v.data(),
                              .type = kType,
                              .num_layers = kLayers,
                              .num_blocks = kBlocks,
                              .num_heads = kHeads,
                              .block_size = kBlockSize,
                              .head_dim = kDim,
                              .block_tables = tables.data(),
                              .num_seqs = kSeqs,
                              .max_blocks = kMaxBlocks,
                              .cached_length = batch.cached};
  const AttentionOptions options = {.scale = 0.125F};
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    const DecodeStep step = step_of_layer(cache, layer,
                                          {.q = rows(batch.q, kQHeads),
                                           .new_k = rows(batch.k, kHeads),
                                           .new_v = rows(batch.v, kHeads)},
                                          options)
                                .value();
    const AttentionPlan plan = plan_decode_step(step, {.max_context_length = 48}).value();
    CallerOutputs outputs(plan);
    run_step(step, outputs, plan);
    const auto code_of = [&](DeviceCodes& codes) {
      return [&codes, layer](std::int64_t block, std::int64_t head, std::int64_t slot,
                             std::int64_t dim) {
        return codes[(((layer * kBlocks + block) * kHeads + head) * kBlockSize + slot) * kDim +
                     dim];
      };
    };
    // The newest token of sequence 1, whose only block is the (11 + layer)th: at its first slot.
    for (std::int64_t dim = 0; dim < kDim; ++dim) {
      CHECK(code_of(k)((11 + layer) % kBlocks, 1, 0, dim) ==
            batch.k[(1 * kHeads + 1) * kDim + dim]);
      CHECK(code_of(v)((11 + layer) % kBlocks, 1, 0, dim) ==
            batch.v[(1 * kHeads + 1) * kDim + dim]);
    }
    const CacheCopy copy(kBlockSize, code_of(k), code_of(v));
    PagedAttentionInputs inputs = inputs_over(copy, batch, rows(batch.q, kQHeads), options);
    inputs.block_table.data = tables.data() + layer * kSeqs * kMaxBlocks;
    expect_right(inputs, plan, outputs);
  }
  CHECK(step_of_layer(cache, kLayers, {}, {}).status() ==
        Status::invalid_input("layer: expected 0 to below num_layers = 3, got 3"));
  CHECK(step_of_layer(cache, -1, {}, {}).status() ==
        Status::invalid_input("layer: expected 0 to below num_layers = 3, got -1"));
}

// Angles are quarter turns, so that rotations are exact.
struct QuarterTurns {
  QuarterTurns() {
    const double cosine[] = {1, 0, -1, 0};
    for (std::int64_t i = 0; i < kMaxContext * kDim / 2; ++i) {
      const std::int64_t quarter = quarter_of(i / (kDim / 2), i % (kDim / 2));
      cosines[i] = static_cast<std::uint16_t>(reference::encode(cosine[quarter], kType));
      sines[i] = static_cast<std::uint16_t>(reference::encode(cosine[(quarter + 3) % 4], kType));
    }
  }

  static std::int64_t quarter_of(std::int64_t position, std::int64_t pair) {
    return (position + 3 * pair) % 4;
  }
  RowsView view(DeviceCodes& codes) const {
    return dense_rows<const void*>(codes.data(), kType, kMaxContext, 1, kDim / 2);
  }

  DeviceCodes cosines{kMaxContext * kDim / 2};
  DeviceCodes sines{kMaxContext * kDim / 2};
};

// Rotates one head's row to a position: (x, y) by q quarter turns.
void turn(DeviceCodes& codes, std::int64_t row, std::int64_t position,
          kernels::RotaryPairing pairing) {
  for (std::int64_t pair = 0; pair < kDim / 2; ++pair) {
    const bool is_interleaved = pairing == kernels::RotaryPairing::kInterleaved;
    const std::int64_t at_x = row * kDim + (is_interleaved ? 2 * pair : pair);
    const std::int64_t at_y = row * kDim + (is_interleaved ? 2 * pair + 1 : pair + kDim / 2);
    for (std::int64_t i = 0; i < QuarterTurns::quarter_of(position, pair); ++i) {
      const std::uint16_t x = codes[at_x];
      codes[at_x] = codes[at_y] ^ 0x8000;
      codes[at_y] = x;
    }
  }
}

void check_flash_attn(kernels::RotaryPairing pairing) {
  constexpr std::int64_t kBlockSize = 256;
  constexpr std::int64_t kPoolSize = kBlocks * kBlockSize * kHeads * kDim;
  CallerBatch batch(kBlockSize);
  batch.cached[2] = 300;
  batch.context_length[2] = 301;
  DeviceCodes k(kPoolSize);
  DeviceCodes v(kPoolSize);
  k.draw(batch.random);
  v.draw(batch.random);
  QuarterTurns turns;
  const MutablePagedKvView pool = pool_view(KvLayout::kTokenMajor, kBlockSize, k.data(), v.data());
  const FlashAttnWithKvcache call = {.q = rows(batch.q, kQHeads),
                                     .k_cache = pool.k,
                                     .v_cache = pool.v,
                                     .k = rows(batch.k, kHeads),
                                     .v = rows(batch.v, kHeads),
                                     .rotary_cos = turns.view(turns.cosines),
                                     .rotary_sin = turns.view(turns.sines),
                                     .cache_seqlens = batch.cached,
                                     .block_table = batch.table(),
                                     .window_left = 270,
                                     .rotary_pairing = pairing};
  const DecodeStep step = step_of(call).value();
  const AttentionPlan plan = plan_decode_step(step, {.max_context_length = kMaxContext}).value();
  CallerOutputs outputs(plan);
  run_step(step, outputs, plan);
  const auto code_of = [](DeviceCodes& codes) {
    return [&codes](std::int64_t block, std::int64_t head, std::int64_t slot, std::int64_t dim) {
      return codes[((block * kBlockSize + slot) * kHeads + head) * kDim + dim];
    };
  };
  for (std::int64_t s = 0; s < kSeqs; ++s) {
    const std::int32_t position = batch.cached[static_cast<std::size_t>(s)];
    for (std::int64_t head = 0; head < kQHeads; ++head) {
      turn(batch.q, s * kQHeads + head, position, pairing);
    }
    const std::int32_t block =
        batch.block_table[static_cast<std::size_t>(s * kMaxBlocks + position / kBlockSize)];
    for (std::int64_t head = 0; head < kHeads; ++head) {
      turn(batch.k, s * kHeads + head, position, pairing);
      for (std::int64_t dim = 0; dim < kDim; ++dim) {
        const std::int64_t from = (s * kHeads + head) * kDim + dim;
        // Zeros may have either sign.
        const std::uint16_t seen = code_of(k)(block, head, position % kBlockSize, dim);
        CHECK((seen == batch.k[from] || ((seen | batch.k[from]) & 0x7fff) == 0));
        CHECK(code_of(v)(block, head, position % kBlockSize, dim) == batch.v[from]);
      }
    }
  }
  const CacheCopy copy(kBlockSize, code_of(k), code_of(v));
  AttentionOptions options = {.scale = 0.125F};
  options.window = 271;
  expect_right(inputs_over(copy, batch, rows(batch.q, kQHeads), options), plan, outputs);
}

TEST_CASE(
    "flash_attn_with_kvcache gives the reference's results, with rotary embedding of either form") {
  check_flash_attn(kernels::RotaryPairing::kInterleaved);
  check_flash_attn(kernels::RotaryPairing::kHalves);
}

TEST_CASE("paged_attention_v1 and v2 of vLLM give the reference's results") {
  constexpr std::int64_t kBlockSize = 16;
  constexpr std::int64_t kPack = 8;
  constexpr std::int64_t kPoolSize = kBlocks * kBlockSize * kHeads * kDim;
  CallerBatch batch(kBlockSize);
  DeviceCodes k(kPoolSize);
  DeviceCodes v(kPoolSize);
  k.draw(batch.random);
  v.draw(batch.random);
  const PagedKvView pool = as_const(pool_view(KvLayout::kPacked, kBlockSize, k.data(), v.data()));
  const std::vector<float> slopes = {0.5F, 0.25F, 0.125F, 0.0625F};
  const VllmPagedAttention call = {.query = rows(batch.q, kQHeads),
                                   .key_cache = pool.k,
                                   .value_cache = pool.v,
                                   .scale = 0.125F,
                                   .block_tables = batch.table(),
                                   .seq_lens = batch.context_length,
                                   .alibi_slopes = slopes};
  const CacheCopy copy(
      kBlockSize,
      [&](std::int64_t block, std::int64_t head, std::int64_t slot, std::int64_t dim) {
        return k[(((block * kHeads + head) * (kDim / kPack) + dim / kPack) * kBlockSize + slot) *
                     kPack +
                 dim % kPack];
      },
      [&](std::int64_t block, std::int64_t head, std::int64_t slot, std::int64_t dim) {
        return v[((block * kHeads + head) * kDim + dim) * kBlockSize + slot];
      });
  const PagedAttentionInputs asked = inputs_of(call);
  for (const VllmVersion version : {VllmVersion::kV1, VllmVersion::kV2}) {
    const AttentionPlan plan = plan_attention(asked, plan_options(version, 4096)).value();
    CHECK(plan.num_splits == (version == VllmVersion::kV1 ? 1 : 8));
    CallerOutputs outputs(plan);
    simt::Executor executor({});
    simt::Stream stream(executor);
    REQUIRE(run_attention(plan, asked, outputs.views(), outputs.memory(plan), &stream) ==
            Status::ok());
    REQUIRE(stream.synchronise().passed());
    expect_right(inputs_over(copy, batch, asked.q, asked.options), plan, outputs);
  }
}

}  // namespace
}  // namespace recto::verify
