// The speed of the oracle at the sizes that verification needs: one decode row, 32 query heads on 8
// KV heads, head dim 128. Reports bytes per second, beside those of a plain read in the same run.
// Bytes count K and V as fp64, once for each query head, because they are read in this way,
// whatever type they are gathered from.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "core/random_stream.h"
#include "reference/dense_attention.h"
#include "reference/error_bound.h"
#include "reference/paged_attention.h"

namespace recto::reference {
namespace {

constexpr std::int64_t kQueryHeads = 32;
constexpr std::int64_t kKvHeads = 8;
constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kBlockSize = 16;
constexpr double kScale = 0.08838834764831845;  // 1 / sqrt(128)

Matrix random_matrix(std::int64_t rows, std::uint64_t seed) {
  RandomStream stream(seed);
  return Matrix::NullaryExpr(rows, kHeadDim, [&stream] { return stream.next_unit() - 0.5; });
}

// One KV head's K and V in fp64. At 128k keys (268 MB) it is larger than any CPU cache; it stands
// for each of the eight heads.
struct DenseHead {
  explicit DenseHead(std::int64_t context)
      : q(random_matrix(kQueryHeads, 1)),
        k(random_matrix(context, 2)),
        v(random_matrix(context, 3)) {}

  Matrix q;
  Matrix k;
  Matrix v;
};

void count_bytes(benchmark::State& state) {
  const std::int64_t context = state.range(0);
  const std::int64_t of_query_head = 2 * context * kHeadDim * std::int64_t{sizeof(double)};
  state.SetBytesProcessed(state.iterations() * kQueryHeads * of_query_head);
}

void BM_PlainRead(benchmark::State& state) {
  const DenseHead head(state.range(0));
  for (auto _ : state) {
    for (std::int64_t query = 0; query < kQueryHeads; ++query) {
      benchmark::DoNotOptimize(head.k.sum() + head.v.sum());
    }
  }
  count_bytes(state);
}

void BM_DenseDecode(benchmark::State& state) {
  const DenseHead head(state.range(0));
  const HeadOptions options{.scale = kScale};
  for (auto _ : state) {
    for (std::int64_t query = 0; query < kQueryHeads; ++query) {
      benchmark::DoNotOptimize(
          dense_attention({head.q.middleRows(query, 1), head.k, head.v}, options));
    }
  }
  count_bytes(state);
}

// A bf16 cache with shuffled blocks.
class PagedCache {
 public:
  explicit PagedCache(std::int64_t context)
      : k_(static_cast<std::size_t>(context * kKvHeads * kHeadDim)),
        v_(k_.size()),
        table_(static_cast<std::size_t>(context / kBlockSize)),
        context_{static_cast<std::int32_t>(context)} {
    RandomStream stream(4);
    for (std::vector<std::uint16_t>* pool : {&k_, &v_}) {
      // Random sign and mantissa, magnitudes in [0.5, 1).
      for (std::uint16_t& code : *pool) {
        code = static_cast<std::uint16_t>(0x3f00 | (stream.next_u64() & 0x807f));
      }
    }
    for (std::uint16_t& code : q_)
      code = static_cast<std::uint16_t>(0x3f00 | (stream.next_u64() & 0x807f));
    std::iota(table_.begin(), table_.end(), 0);
    shuffle(table_, stream);
  }

  PagedAttentionInputs inputs() const {
    PagedAttentionInputs inputs;
    inputs.q = dense_rows<const void*>(q_.data(), ElementType::kBf16, 1, kQueryHeads, kHeadDim);
    const KvTensorView view{.type = ElementType::kBf16,
                            .layout = KvLayout::kTokenMajor,
                            .num_blocks = std::ssize(table_),
                            .block_size = kBlockSize,
                            .num_kv_heads = kKvHeads,
                            .head_dim = kHeadDim,
                            .block_stride = kBlockSize * kKvHeads * kHeadDim,
                            .head_stride = kHeadDim,
                            .slot_stride = kKvHeads * kHeadDim};
    inputs.kv = {view, view};
    inputs.kv.k.data = k_.data();
    inputs.kv.v.data = v_.data();
    inputs.block_table = {.data = table_.data(),
                          .num_seqs = 1,
                          .max_blocks = std::ssize(table_),
                          .row_stride = std::ssize(table_)};
    inputs.query_start = query_start_;
    inputs.context_length = {&context_, 1};
    inputs.options.scale = static_cast<float>(kScale);
    return inputs;
  }

 private:
  std::vector<std::uint16_t> q_ = std::vector<std::uint16_t>(kQueryHeads * kHeadDim);
  std::vector<std::uint16_t> k_;
  std::vector<std::uint16_t> v_;
  std::vector<std::int32_t> table_;
  std::int32_t query_start_[2] = {0, 1};
  std::int32_t context_;
};

template <typename Function>
void run_paged(benchmark::State& state, Function&& attend) {
  const PagedCache cache(state.range(0));
  const PagedAttentionInputs inputs = cache.inputs();
  for (auto _ : state) benchmark::DoNotOptimize(attend(inputs));
  count_bytes(state);
}

void BM_ReferenceDecode(benchmark::State& state) { run_paged(state, paged_attention); }

void BM_ReferenceDecodeOverBlocks(benchmark::State& state) {
  run_paged(state, paged_attention_over_blocks);
}

void BM_ReferenceDecodeWithBounds(benchmark::State& state) {
  run_paged(state, [](const PagedAttentionInputs& inputs) {
    return bounded_attention(inputs, third_party_numerics(ElementType::kBf16, ElementType::kBf16));
  });
}

void contexts(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(4096)->Arg(131072)->ArgName("context")->Unit(benchmark::kMillisecond);
}

BENCHMARK(BM_PlainRead)->Apply(contexts);
BENCHMARK(BM_DenseDecode)->Apply(contexts);
BENCHMARK(BM_ReferenceDecode)->Apply(contexts);
BENCHMARK(BM_ReferenceDecodeOverBlocks)->Apply(contexts);
BENCHMARK(BM_ReferenceDecodeWithBounds)->Apply(contexts);

}  // namespace
}  // namespace recto::reference
