// Compares counted work with numbers counted by hand.

#include "cuda/bench/counted_work.h"

#include "bazel/testing/catch.h"

namespace recto::bench {
namespace {

// Two sequences of 20 tokens in blocks of 16, two KV heads of four dims, six query heads.
BatchShape small() {
  return {.num_seqs = 2,
          .context_length = 20,
          .num_kv_heads = 2,
          .group = 3,
          .head_dim = 4,
          .block_size = 16};
}

TEST_CASE("a shape counts its tokens, blocks and bytes") {
  const BatchShape shape = small();
  CHECK(shape.num_q_heads() == 6);
  CHECK(shape.num_tokens() == 40);
  CHECK(shape.num_blocks() == 4);
  CHECK(shape.token_bytes() == 2 * 4 * 2);
  CHECK(shape.tensor_bytes() == 4 * 16 * 16);
  CHECK(shape.row_bytes() == 2 * 6 * 4 * 2);
  // K and V; q and out; lse; two tables of two.
  CHECK(shape.allocated_bytes() == 2 * 1024 + 2 * 96 + 4 * 12 + 4 * 4);
}

TEST_CASE("skewed lengths halve down to at least 1, and repeat after eight sequences") {
  BatchShape shape = small();
  shape.num_seqs = 9;
  shape.context_length = 100;
  shape.lengths = Lengths::kSkewed;
  constexpr std::int64_t kExpected[] = {100, 50, 25, 12, 6, 3, 1, 1, 100};
  for (std::int64_t s = 0; s < 9; ++s) CHECK(shape.length_of(s) == kExpected[s]);
  CHECK(shape.num_tokens() == 298);
  // One sequence has 7 blocks, one 4, one 2, five have one each; then another 7.
  CHECK(shape.num_blocks() == 25);
  CHECK(shape.max_blocks() == 7);
}

TEST_CASE("a contiguous sequence is one block") {
  BatchShape shape = small();
  shape.placement = Placement::kContiguous;
  CHECK(shape.slots_per_block() == 20);
  CHECK(shape.num_blocks() == 2);
  CHECK(shape.tensor_bytes() == 40 * 16);
}

TEST_CASE("decode reads K, V, q, tables and lengths, and writes out and lse") {
  const Work work = attention_work(small());
  // 40 tokens of K and V; q and out; an lse for each of 12 rows; 4 entries and 2 lengths.
  CHECK(work.bytes == 40 * 2 * 16 + 2 * 96 + 12 * 4 + 4 * 6);
  // 40 keys, for each of six heads 4 dims in two products.
  CHECK(work.flops == 40 * 6 * 4 * 4);
}

TEST_CASE("an fp8 cache halves the KV bytes to read, and needs as many FLOPs") {
  BatchShape shape = small();
  shape.kv_type = ElementType::kE4m3;
  CHECK(attention_work(shape).bytes == 40 * 2 * 8 + 2 * 96 + 12 * 4 + 4 * 6);
  CHECK(attention_work(shape).flops == attention_work(small()).flops);
}

TEST_CASE("a prefill row attends to the keys up to its own position") {
  BatchShape shape = small();
  shape.rows_per_seq = 3;
  // 18, 19 and 20 keys, in two sequences.
  CHECK(attention_work(shape).flops == 2.0 * (18 + 19 + 20) * 6 * 4 * 4);
  CHECK(attention_work(shape).bytes == 40 * 2 * 16 + 2 * 288 + 36 * 4 + 4 * 6);
}

TEST_CASE("writes, appends, gathers and block copies read and write K and V once") {
  // 16 bytes of K, as many of V.
  CHECK(kv_write_work(small()).bytes == 40 * (4 * 16 + 8));
  CHECK(kv_append_work(small()).bytes == 2 * (4 * 16 + 12));
  CHECK(gather_work(small()).bytes == 40 * 4 * 16 + 4 * 6);
  // Whole blocks: 64 slots, 40 of which hold tokens.
  CHECK(block_copy_work(small()).bytes == 64 * 4 * 16 + 4 * 8);
  CHECK(kv_write_work(small()).flops == 0);
}

TEST_CASE("new tokens are read in q's type, and written in the cache's type") {
  BatchShape shape = small();
  shape.kv_type = ElementType::kE4m3;
  CHECK(kv_write_work(shape).bytes == 40 * (2 * 16 + 2 * 8 + 8));
  CHECK(kv_append_work(shape).bytes == 2 * (2 * 16 + 2 * 8 + 12));
  CHECK(gather_work(shape).bytes == 40 * 4 * 8 + 4 * 6);
}

TEST_CASE("a merge reads the states of all splits") {
  // 12 rows, 5 splits, a maximum, a sum and four sums each.
  CHECK(merge_work(small(), 5).bytes == 4 * 12 * 5 * 6 + 96 + 48 + 8);
  CHECK(merge_work(small(), 5).flops == 2 * 12 * 5 * 6);
}

}  // namespace
}  // namespace recto::bench
