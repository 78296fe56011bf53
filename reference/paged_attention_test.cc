#include "reference/paged_attention.h"

#include <array>
#include <cmath>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::reference {
namespace {

// Two sequences in blocks of two slots, two query heads on one KV head of two dims, fp32. Pool
// block 2 is unused; sequence 0 holds blocks 3 and 0, sequence 1 block 1.
struct SmallBatch {
  std::vector<float> k = std::vector<float>(4 * 2 * 2, NAN);  // [num_blocks, block_size, head_dim]
  std::vector<float> v = std::vector<float>(4 * 2 * 2, NAN);
  std::vector<float> q = {1, 0, 0, 1, 1, 1, 2, 0};  // [num_rows, num_q_heads, head_dim]
  std::array<std::int32_t, 6> table = {3, 0, -1, 1, 1 << 30, 7};
  std::array<std::int32_t, 3> query_start = {0, 1, 2};
  std::array<std::int32_t, 2> context_length = {3, 1};
  PagedAttentionInputs inputs;

  SmallBatch() {
    set(3, 0, {1, 2}, {10, 1});
    set(3, 1, {3, 1}, {20, 2});
    set(0, 0, {0, 1}, {30, 3});
    set(1, 0, {5, 5}, {40, 4});
    inputs.q = {.data = q.data(),
                .num_rows = 2,
                .num_heads = 2,
                .head_dim = 2,
                .row_stride = 4,
                .head_stride = 2};
    const KvTensorView view{.num_blocks = 4,
                            .block_size = 2,
                            .num_kv_heads = 1,
                            .head_dim = 2,
                            .block_stride = 4,
                            .head_stride = 2,
                            .slot_stride = 2};
    inputs.kv = {view, view};
    inputs.kv.k.data = k.data();
    inputs.kv.v.data = v.data();
    inputs.block_table = {.data = table.data(), .num_seqs = 2, .max_blocks = 3, .row_stride = 3};
    inputs.query_start = query_start;
    inputs.context_length = context_length;
  }

  void set(std::size_t block, std::size_t slot, std::array<float, 2> key,
           std::array<float, 2> value) {
    for (std::size_t dim = 0; dim < 2; ++dim) {
      k[block * 4 + slot * 2 + dim] = key[dim];
      v[block * 4 + slot * 2 + dim] = value[dim];
    }
  }
};

void check_small_batch(const AttentionResult& result) {
  // Head 0 of sequence 0 reads the first dim of the keys: 1, 3, 0.
  const double a = std::exp(1);
  const double b = std::exp(3);
  CHECK(result.out_at(0, 0, 0) == Approx((10 * a + 20 * b + 30) / (a + b + 1)).epsilon(1e-14));
  CHECK(result.out_at(0, 0, 1) == Approx((a + 2 * b + 3) / (a + b + 1)).epsilon(1e-14));
  CHECK(result.lse_ln_at(0, 0) == Approx(std::log(a + b + 1)).epsilon(1e-14));
  // Head 1 reads the second dim: 2, 1, 1.
  const double c = std::exp(2);
  CHECK(result.out_at(0, 1, 0) == Approx((10 * c + 50 * a) / (c + 2 * a)).epsilon(1e-14));
  CHECK(result.out_at(1, 0, 0) == 40);
  CHECK(result.lse_ln_at(1, 0) == 10);
  CHECK(result.lse_ln_at(1, 1) == 10);
}

TEST_CASE("contexts are followed through the block table, gathered or not") {
  const SmallBatch batch;
  check_small_batch(paged_attention(batch.inputs));
  check_small_batch(paged_attention_over_blocks(batch.inputs));
}

TEST_CASE("sequences without query_start have one row each") {
  SmallBatch batch;
  batch.inputs.query_start = {};
  check_small_batch(paged_attention(batch.inputs));
  check_small_batch(paged_attention_over_blocks(batch.inputs));
}

TEST_CASE("each head has its own slope and sink") {
  SmallBatch batch;
  const std::array<float, 2> slopes = {0.0F, 0.5F};
  const std::array<float, 2> sinks = {3.0F, -INFINITY};
  batch.inputs.options.alibi_slopes = slopes;
  batch.inputs.options.sinks = sinks;
  for (const AttentionResult& result :
       {paged_attention(batch.inputs), paged_attention_over_blocks(batch.inputs)}) {
    CHECK(result.lse_ln_at(0, 0) ==
          Approx(std::log(std::exp(1) + 2 * std::exp(3) + 1)).epsilon(1e-14));
    // Distances -2, -1, 0 to the last token: scores 2 - 1, 1 - 0.5, 1.
    CHECK(result.lse_ln_at(0, 1) ==
          Approx(std::log(2 * std::exp(1) + std::exp(0.5))).epsilon(1e-14));
  }
}

TEST_CASE("a decode step sees the newest token after the cached ones") {
  SmallBatch batch;
  // Sequence 0 has two cached tokens and adds its third; sequence 1 adds its first.
  const std::vector<float> new_k = {0, 1, 5, 5};
  const std::vector<float> new_v = {30, 3, 40, 4};
  const std::array<std::int32_t, 2> cached_length = {2, 0};
  batch.k[0] = batch.v[0] = NAN;
  DecodeStepInputs inputs{.q = batch.inputs.q,
                          .kv = batch.inputs.kv,
                          .block_table = batch.inputs.block_table,
                          .cached_length = cached_length};
  inputs.new_k = {.data = new_k.data(),
                  .num_rows = 2,
                  .num_heads = 1,
                  .head_dim = 2,
                  .row_stride = 2,
                  .head_stride = 2};
  inputs.new_v = inputs.new_k;
  inputs.new_v.data = new_v.data();
  check_small_batch(decode_step(inputs));
}

TEST_CASE("each KV head is visited once, in order, with its keys, its rows and its query heads") {
  const SmallBatch batch;
  std::vector<KvHeadContext> visited;
  for_each_kv_head(batch.inputs, [&](const KvHeadContext& context) { visited.push_back(context); });
  REQUIRE(visited.size() == 2);
  Matrix keys(3, 2);
  keys << 1, 2, 3, 1, 0, 1;
  CHECK(visited[0].k == keys);
  CHECK(visited[1].v == (Matrix(1, 2) << 40, 4).finished());
  for (std::size_t seq = 0; seq < 2; ++seq) {
    CHECK(visited[seq].first_row == static_cast<std::int64_t>(seq));
    CHECK(visited[seq].num_rows == 1);
    CHECK(visited[seq].kv_head == 0);
    CHECK(visited[seq].q_head_begin == 0);
    CHECK(visited[seq].q_head_end == 2);
  }
}

TEST_CASE("query heads are divided among KV heads group by group") {
  SmallBatch batch;
  // Two KV heads of one dim each, over the same memory.
  batch.inputs.kv.k.num_kv_heads = batch.inputs.kv.v.num_kv_heads = 2;
  batch.inputs.kv.k.head_dim = batch.inputs.kv.v.head_dim = batch.inputs.q.head_dim = 1;
  batch.inputs.kv.k.head_stride = batch.inputs.kv.v.head_stride = 1;
  batch.inputs.q.head_stride = 1;
  batch.inputs.q.num_heads = 4;
  std::vector<std::array<std::int64_t, 3>> heads;
  for_each_kv_head(batch.inputs, [&](const KvHeadContext& context) {
    heads.push_back({context.kv_head, context.q_head_begin, context.q_head_end});
  });
  CHECK(heads ==
        std::vector<std::array<std::int64_t, 3>>{{0, 0, 2}, {1, 2, 4}, {0, 0, 2}, {1, 2, 4}});
}

TEST_CASE("sequences without a token are skipped over") {
  SmallBatch batch;
  batch.context_length = {0, 1};
  const AttentionResult result = paged_attention(batch.inputs);
  CHECK(result.out_at(0, 0, 0) == 0);
  CHECK(result.lse_ln_at(0, 0) == -INFINITY);
  CHECK(result.out_at(1, 0, 0) == 40);
}

}  // namespace
}  // namespace recto::reference
