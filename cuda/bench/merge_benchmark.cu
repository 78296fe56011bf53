// Benchmarks the merge of splits alone; the states hold random numbers.

#include <benchmark/benchmark.h>
#include <kernel_dialect.h>

#include <cstdint>
#include <string>

#include "cuda/bench/attention_batch.h"
#include "cuda/bench/device.h"
#include "cuda/bench/measured.h"
#include "cuda/kernels/split_decode.h"

namespace recto::bench {
namespace {

constexpr std::int64_t kSplitSize = 64;

// Merges all rows and heads; each context fills all splits.
void split_merge(benchmark::State& state, const BatchShape& shape) {
  const std::int64_t splits = shape.context_length / kSplitSize;
  const AttentionBatch batch(shape);
  const std::int64_t states = shape.num_rows() * shape.num_q_heads() * splits;
  const DeviceBytes maximum(4 * states);
  const DeviceBytes sum(4 * states);
  const DeviceBytes weighted(4 * states * shape.head_dim);
  if (!batch.status().is_ok() || maximum.data() == nullptr || sum.data() == nullptr ||
      weighted.data() == nullptr) {
    give_up(state, too_little_memory(shape.allocated_bytes() + weighted.bytes()));
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
  add_counters(state, shape);
  state.counters["splits"] = static_cast<double>(splits);
  measure(state, {.work = merge_work(shape, splits)},
          [&](std::int64_t) { return kernels::launch_split_merge(params, nullptr); });
}

}  // namespace

void register_benchmarks(CaseSet set) {
  for (const std::int64_t batch : {16, 256}) {
    if (batch > 16 && set == CaseSet::kDefault) continue;
    for (const std::int64_t splits : {2, 8, 32, 128}) {
      for (const std::int64_t dim : {64, 128, 256}) {
        const BatchShape shape = {
            .num_seqs = batch, .context_length = splits * kSplitSize, .head_dim = dim};
        register_case("split_merge/batch:" + std::to_string(batch) +
                          "/splits:" + std::to_string(splits) + "/head_dim:" + std::to_string(dim),
                      [shape](benchmark::State& state) { split_merge(state, shape); });
      }
    }
  }
}

}  // namespace recto::bench
