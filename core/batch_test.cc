#include "core/batch.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/attention_gate.h"
#include "core/dense_kv_view.h"
#include "core/random_stream.h"

namespace recto {
namespace {

using Ids = std::vector<std::int32_t>;

// Five rows of two sequences, in fp16 and e4m3.
BatchLayout small_layout() {
  const KvPoolShape pool = {.layout = KvLayout::kHeadMajor,
                            .type = ElementType::kE4m3,
                            .num_blocks = 6,
                            .block_size = 4,
                            .num_kv_heads = 2,
                            .head_dim_k = 16,
                            .head_dim_v = 8};
  BatchLayout layout = {.q = dense_rows<const void*>(nullptr, ElementType::kFp16, 0, 4, 16),
                        .kv = as_const(dense_kv_view(pool, nullptr, nullptr).value()),
                        .sequences = {{2, 9, {5, 0, 3}}, {3, 4, {2}}},
                        .options = {.sinks = {1, 2, 3, 4}},
                        .k_scales = {0.5F, 0.25F},
                        .v_scales = {2.0F},
                        .fill = kNanByte};
  return layout;
}

TEST_CASE("a batch has the lists of its sequences, and passes the gates") {
  const Batch batch(small_layout());
  CHECK(batch.lists.block_table == Ids{5, 0, 3, 2, -1, -1});
  CHECK(batch.lists.query_start == Ids{0, 2, 5});
  CHECK(batch.lists.context_length == Ids{9, 4});
  CHECK(batch.inputs.q.num_rows == 5);
  CHECK(batch.inputs.block_table.num_seqs == 2);
  CHECK(check_contents(batch.inputs) == Status::ok());
}

TEST_CASE("a batch's memory spans its views' strides, and is filled with the layout's byte") {
  BatchLayout layout = small_layout();
  layout.kv.k.block_stride += 3;
  const Batch batch(layout);
  CHECK(std::ssize(batch.pools.k) == 6 * (4 * 2 * 16 + 3));
  CHECK(std::ssize(batch.pools.v) == 6 * 4 * 2 * 8);
  CHECK(std::ssize(batch.q) == 5 * 4 * 16 * 2);
  for (const std::vector<std::byte>* memory : {&batch.q, &batch.pools.k, &batch.pools.v}) {
    CHECK(std::ranges::count(*memory, kNanByte) == std::ssize(*memory));
  }
  CHECK(batch.inputs.kv.k.data == batch.pools.k.data());
  CHECK(batch.inputs.kv.k.block_stride == layout.kv.k.block_stride);
  CHECK(copied_pools(batch.inputs.kv).k == batch.pools.k);
}

TEST_CASE("a batch that moves keeps its memory, its options and its scales") {
  Batch batch(small_layout());
  const Batch moved(std::move(batch));
  CHECK(moved.inputs.options.sinks[3] == 4.0F);
  CHECK(moved.inputs.kv.k.scale.kind == ScaleKind::kPerKvHead);
  CHECK(moved.inputs.kv.k.scale.data[1] == 0.25F);
  CHECK(moved.inputs.kv.v.scale.kind == ScaleKind::kPerTensor);
  CHECK(moved.inputs.q.data == moved.q.data());
  CHECK(moved.inputs.block_table.data[2] == 3);
}

TEST_CASE("a table may be wider than the longest sequence, and its rows further apart") {
  const std::vector<BatchSequence> sequences = {{1, 4, {7}}, {1, 0, {}}};
  const BatchLists lists(sequences, {.max_blocks = 2, .row_stride = 3});
  CHECK(lists.block_table == Ids{7, -1, -1, -1, -1, -1});
  CHECK(lists.table().max_blocks == 2);
  CHECK(lists.table().row_stride == 3);
  CHECK(BatchLists({}).table().max_blocks == 1);
}

TEST_CASE("sequences get the blocks that their contexts need, in order") {
  std::vector<BatchSequence> sequences = {{1, 9}, {1, 0}, {1, 4}, {1, 1}};
  give_blocks(sequences, 4, scattered_ids(5));
  CHECK(sequences[0].blocks == Ids{0, 2, 4});
  CHECK(sequences[1].blocks.empty());
  CHECK(sequences[2].blocks == Ids{1});
  CHECK(sequences[3].blocks == Ids{3});
}

TEST_CASE("a shuffle keeps the items, and gives the same order for the same stream") {
  Ids ids = scattered_ids(100);
  const Ids before = ids;
  RandomStream stream(1);
  shuffle(ids, stream);
  CHECK(ids != before);
  Ids again = before;
  RandomStream same(1);
  shuffle(again, same);
  CHECK(again == ids);
  CHECK(std::ranges::is_permutation(ids, before));
}

}  // namespace
}  // namespace recto
