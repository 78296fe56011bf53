// The merge of splits by itself, whose states hold random numbers.

#include <benchmark/benchmark.h>

#include <cstdint>

#include "cuda/bench/attention_batch.h"
#include "cuda/bench/measured.h"
#include "cuda/kernels/split_decode.h"

namespace recto::bench {
namespace {

// Of all rows and heads; contexts fill all splits.
void split_merge(benchmark::State& state) {
  if (!has_gpu(state)) return;
  constexpr std::int64_t kSplitSize = 64;
  const std::int64_t splits = state.range(0);
  const BatchShape shape = {
      .num_seqs = 16, .context_length = splits * kSplitSize, .head_dim = state.range(1)};
  const AttentionBatch batch(shape);
  const std::int64_t states = shape.num_rows() * shape.num_q_heads() * splits;
  const DeviceBytes maximum(4 * states);
  const DeviceBytes sum(4 * states);
  const DeviceBytes weighted(4 * states * shape.head_dim);
  if (!batch.status().is_ok() || weighted.data() == nullptr) {
    state.SkipWithError("SKIPPED: the card has too little memory");
    return;
  }
  fill_random(maximum, ElementType::kFp32, 4);
  fill_random(sum, ElementType::kFp32, 5);
  fill_random(weighted, ElementType::kFp32, 6);
  const PagedAttentionInputs inputs = batch.inputs();
  const AttentionOutputs outputs = batch.outputs();
  const kernels::SplitDecodeParams params = {
      .decode = {.q = inputs.q,
                 .kv = inputs.kv,
                 .block_table = inputs.block_table,
                 .context_length = inputs.context_length.data(),
                 .out = outputs.out,
                 .lse_ln = outputs.lse_ln.data()},
      .split_size = kSplitSize,
      .num_splits = splits,
      .states = {static_cast<float*>(maximum.data()), static_cast<float*>(sum.data()),
                 static_cast<float*>(weighted.data())}};
  const auto rows = static_cast<double>(shape.num_rows() * shape.num_q_heads());
  const auto dims = static_cast<double>(shape.head_dim);
  const double bytes = rows * (4 * static_cast<double>(splits) * (2 + dims) +
                               dims * static_cast<double>(element_bytes(shape.q_type)) + 4);
  measure(state, {.bytes = bytes}, [&] { return kernels::launch_split_merge(params, nullptr); });
}

BENCHMARK(split_merge)
    ->ArgNames({"splits", "head_dim"})
    ->ArgsProduct({{2, 8, 32, 128}, {64, 128, 256}})
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace recto::bench
