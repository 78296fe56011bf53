#pragma once

// The workload of the benchmarks of kernels on the executor: a decode step, fp32, head-major.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/batch.h"
#include "core/dense_kv_view.h"
#include "core/random_stream.h"
#include "cuda/kernels/split_decode.h"

namespace recto::verify {

// Eight sequences of 956 tokens in scattered blocks of 16, eight query heads in groups of four,
// head dim 128, contexts in four splits. Must not be copied: `params` points into it.
struct DecodeWorkload {
  static constexpr std::int64_t kSequences = 8;
  static constexpr std::int64_t kQueryHeads = 8;
  static constexpr std::int64_t kKvHeads = 2;
  static constexpr std::int64_t kHeadDim = 128;
  static constexpr std::int64_t kTokens = 956;
  static constexpr std::int64_t kBlockSize = 16;
  static constexpr std::int64_t kBlocks = (kTokens + kBlockSize - 1) / kBlockSize;
  static constexpr std::int64_t kSplits = 4;
  static constexpr std::int64_t kRows = kSequences * kQueryHeads;

  DecodeWorkload() : batch(layout()) {
    fill_random(q, 1);
    fill_random(k, 2);
    fill_random(v, 3);
    params.decode = {.q = batch.inputs.q,
                     .kv = batch.inputs.kv,
                     .block_table = batch.inputs.block_table,
                     .context_length = batch.lists.context_length.data(),
                     .options = batch.inputs.options,
                     .out = dense_rows<void*>(out.data(), ElementType::kFp32, kSequences,
                                              kQueryHeads, kHeadDim)};
    params.split_size = (kTokens + kSplits - 1) / kSplits;
    params.num_splits = kSplits;
    params.states = {maximum.data(), sum.data(), weighted.data()};
  }
  DecodeWorkload(const DecodeWorkload&) = delete;
  DecodeWorkload& operator=(const DecodeWorkload&) = delete;

  static BatchLayout layout() {
    const KvPoolShape pool = {.layout = KvLayout::kHeadMajor,
                              .num_blocks = kSequences * kBlocks,
                              .block_size = kBlockSize,
                              .num_kv_heads = kKvHeads,
                              .head_dim_k = kHeadDim,
                              .head_dim_v = kHeadDim};
    BatchLayout layout = {
        .q = dense_rows<const void*>(nullptr, ElementType::kFp32, 0, kQueryHeads, kHeadDim),
        .kv = as_const(dense_kv_view(pool, nullptr, nullptr).value()),
        .sequences = std::vector<BatchSequence>(kSequences, {1, kTokens}),
        .options = {.scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim))}};
    give_blocks(layout.sequences, kBlockSize, scattered_ids(pool.num_blocks));
    return layout;
  }

  static std::span<float> floats(std::vector<std::byte>& memory) {
    return {reinterpret_cast<float*>(memory.data()), memory.size() / sizeof(float)};
  }

  static void fill_random(std::span<float> values, std::uint64_t seed) {
    RandomStream stream(seed);
    for (float& value : values) value = static_cast<float>(stream.next_unit()) - 0.5F;
  }

  Batch batch;
  std::span<float> q = floats(batch.q);
  std::span<float> k = floats(batch.pools.k);
  std::span<float> v = floats(batch.pools.v);
  std::vector<float> out = std::vector<float>(kRows * kHeadDim);
  std::vector<float> maximum = std::vector<float>(kRows * kSplits);
  std::vector<float> sum = std::vector<float>(kRows * kSplits);
  std::vector<float> weighted = std::vector<float>(kRows * kSplits * kHeadDim);
  kernels::SplitDecodeParams params;
};

}  // namespace recto::verify
