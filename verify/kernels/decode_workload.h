#pragma once

// The workload of the benchmarks of kernels on the executor: a decode step, fp32, head-major.

#include <cmath>
#include <cstdint>
#include <vector>

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
  static constexpr std::int64_t kPool = kSequences * kBlocks * kBlockSize * kKvHeads * kHeadDim;

  DecodeWorkload() {
    for (std::int64_t i = 0; i < std::ssize(block_table); ++i) {
      // Scattered: 37 is coprime to their number.
      block_table[static_cast<std::size_t>(i)] =
          static_cast<std::int32_t>(i * 37 % std::ssize(block_table));
    }
    const KvPoolShape shape = {.layout = KvLayout::kHeadMajor,
                               .num_blocks = kSequences * kBlocks,
                               .block_size = kBlockSize,
                               .num_kv_heads = kKvHeads,
                               .head_dim_k = kHeadDim,
                               .head_dim_v = kHeadDim};
    kv = dense_kv_view(shape, k.data(), v.data()).value();
    params.decode = {.q = rows<const void*>(q.data()),
                     .kv = as_const(kv),
                     .block_table = {block_table.data(), kSequences, kBlocks, kBlocks},
                     .context_length = context_length.data(),
                     .options = {.scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim))},
                     .out = rows<void*>(out.data())};
    params.split_size = (kTokens + kSplits - 1) / kSplits;
    params.num_splits = kSplits;
    params.states = {maximum.data(), sum.data(), weighted.data()};
  }
  DecodeWorkload(const DecodeWorkload&) = delete;
  DecodeWorkload& operator=(const DecodeWorkload&) = delete;

  static std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
    RandomStream stream(seed);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = static_cast<float>(stream.next_unit()) - 0.5F;
    return values;
  }

  template <typename Pointer>
  static BasicRowsView<Pointer> rows(Pointer data) {
    return {.data = data,
            .num_rows = kSequences,
            .num_heads = kQueryHeads,
            .head_dim = kHeadDim,
            .row_stride = kQueryHeads * kHeadDim,
            .head_stride = kHeadDim};
  }

  std::vector<float> q = random_floats(kRows * kHeadDim, 1);
  std::vector<float> k = random_floats(kPool, 2);
  std::vector<float> v = random_floats(kPool, 3);
  std::vector<std::int32_t> block_table = std::vector<std::int32_t>(kSequences * kBlocks);
  std::vector<std::int32_t> context_length = std::vector<std::int32_t>(kSequences, kTokens);
  std::vector<float> out = std::vector<float>(kRows * kHeadDim);
  std::vector<float> maximum = std::vector<float>(kRows * kSplits);
  std::vector<float> sum = std::vector<float>(kRows * kSplits);
  std::vector<float> weighted = std::vector<float>(kRows * kSplits * kHeadDim);
  MutablePagedKvView kv;
  kernels::SplitDecodeParams params;
};

}  // namespace recto::verify
