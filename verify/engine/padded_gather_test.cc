#include "verify/engine/padded_gather.h"

#include "bazel/testing/catch.h"
#include "core/dense_kv_view.h"
#include "core/random_stream.h"

namespace recto::verify {
namespace {

// Three sequences of unlike lengths and rows in one pool of fp32.
struct Batch {
  Batch() {
    RandomStream stream(7);
    for (auto* values : {&k, &v, &q}) {
      for (float& value : *values) value = static_cast<float>(2 * stream.next_unit() - 1);
    }
    const KvPoolShape pool = {
        .num_blocks = 8, .block_size = 4, .num_kv_heads = 2, .head_dim_k = 4, .head_dim_v = 4};
    inputs.kv = as_const(dense_kv_view(pool, k.data(), v.data()).value());
    inputs.q = {.data = q.data(),
                .num_rows = 5,
                .num_heads = 4,
                .head_dim = 4,
                .row_stride = 16,
                .head_stride = 4};
    inputs.block_table = {.data = table.data(), .num_seqs = 3, .max_blocks = 3, .row_stride = 3};
    inputs.query_start = query_start;
    inputs.context_length = lengths;
    inputs.options.scale = 0.5F;
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  std::vector<float> k = std::vector<float>(8 * 4 * 2 * 4);
  std::vector<float> v = std::vector<float>(8 * 4 * 2 * 4);
  std::vector<float> q = std::vector<float>(5 * 4 * 4);
  std::vector<std::int32_t> table = {5, 2, 7, 0, -1, -1, 3, 4, -1};
  std::vector<std::int32_t> query_start = {0, 1, 4, 5};
  std::vector<std::int32_t> lengths = {11, 3, 6};
  PagedAttentionInputs inputs;
};

constexpr WorkShape kShape = {
    .num_q_heads = 4, .num_kv_heads = 2, .head_dim = 4, .element_bytes = 4, .block_size = 4};
const std::vector<SequenceWork> kStep = {{1, 11}, {3, 3}, {1, 6}};

TEST_CASE("a padded batch gives what paged attention gives") {
  const Batch batch;
  const PaddedGather padded = padded_gather_attention(batch.inputs);
  const reference::AttentionResult paged = reference::paged_attention(batch.inputs);
  REQUIRE(padded.result.out.size() == paged.out.size());
  for (std::size_t i = 0; i < paged.out.size(); ++i) {
    CHECK(std::abs(padded.result.out[i] - paged.out[i]) < 1e-12);
  }
}

TEST_CASE("its work is counted as it is done, and told beforehand") {
  const Batch batch;
  const AttentionWork work = padded_gather_attention(batch.inputs).work;
  CHECK(work == padded_gather_work(kShape, kStep));
  // K and V of two heads of four: 64 bytes a slot.
  CHECK(work.gathered_bytes == (20 + 33) * 64);
  CHECK(work.read_bytes == 33 * 64);
  CHECK(work.operations == 4 * 3 * 3 * 11 * 4 * 4);
}

TEST_CASE("paged attention reads what there is") {
  const AttentionWork work = paged_work(kShape, kStep);
  CHECK(work.gathered_bytes == 0);
  CHECK(work.read_bytes == 20 * 64 + (3 + 1 + 2) * 4);
  // Pairs: 11, 1 + 2 + 3, and 6.
  CHECK(work.operations == 4 * 23 * 4 * 4);
}

}  // namespace
}  // namespace recto::verify
