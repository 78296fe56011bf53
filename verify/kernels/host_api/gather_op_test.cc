// Contexts gathered by the host API equal those that the reference gathers, to the last code, and
// rows without a token do not change.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/attention_views.h"
#include "cuda/cache_ops.h"
#include "cuda/kernels/gather.h"
#include "reference/kv_cache_ops.h"
#include "reference/testing/kv_pool.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/stream.h"

namespace recto::verify {
namespace {

using reference::KvPool;
using reference::RowPool;
using reference::TestPoolShape;

TestPoolShape pool_shape(KvLayout layout, ElementType type) {
  return {.layout = layout,
          .type = type,
          .num_blocks = 6,
          .block_size = 4,
          .num_kv_heads = 2,
          .head_dim = 16,
          .pack_width = 16 / element_bytes(type)};
}

TestPoolShape values_of(TestPoolShape shape) {
  shape.pack_width = 1;
  return shape;
}

struct alignas(16) Sixteen {
  std::byte at[16];
};

// Contexts of 9, 0 and 4 tokens into 16 rows, two of which are unused.
struct GatherCall {
  explicit GatherCall(KvLayout layout = KvLayout::kHeadMajor, ElementType type = ElementType::kFp16)
      : cache_k(pool_shape(layout, type), 1),
        cache_v(values_of(pool_shape(layout, type)), 2),
        k({.type = type, .num_rows = 16, .num_heads = 2, .head_dim = 16}, 5),
        v({.type = type, .num_rows = 16, .num_heads = 2, .head_dim = 16}, 6) {
    inputs = {.kv = as_const(MutablePagedKvView{.k = cache_k.view(), .v = cache_v.view()}),
              .block_table = {table.data(), 3, 3, 3},
              .context_length = lengths,
              .context_start = starts,
              .k = k.view(),
              .v = v.view()};
    options = {.contents_check = ContentsCheck::kOnDevice,
               .workspace = {.data = memory.data(), .bytes = kContentsCheckBytes}};
  }
  GatherCall(const GatherCall&) = delete;
  GatherCall& operator=(const GatherCall&) = delete;

  bool has_rows_of(const GatherCall& other) const {
    return k.bytes() == other.k.bytes() && v.bytes() == other.v.bytes();
  }

  KvPool cache_k;
  KvPool cache_v;
  RowPool k;
  RowPool v;
  std::vector<std::int32_t> table = {5, 0, 3, -1, 99, -7, 2, -1, -1};
  std::vector<std::int32_t> lengths = {9, 0, 4};
  std::vector<std::int64_t> starts = {6, 16, 1};
  GatherInputs inputs;
  CacheOpOptions options;
  std::vector<Sixteen> memory = std::vector<Sixteen>(kContentsCheckBytes / sizeof(Sixteen));
};

Status run(GatherCall& call, std::int64_t max_context_length) {
  simt::Executor executor({});
  simt::Stream stream(executor);
  const Status status = run_gather(call.inputs, max_context_length, call.options, &stream);
  CHECK(stream.synchronise().passed());
  return status;
}

TEST_CASE("a valid gather leaves the rows as the reference does") {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    for (const ElementType type : {ElementType::kFp32, ElementType::kBf16, ElementType::kE4m3}) {
      for (const ContentsCheck check : {ContentsCheck::kNone, ContentsCheck::kOnDevice}) {
        INFO(layout << " " << type);
        GatherCall expected(layout, type);
        reference::gather_kv(expected.inputs);
        GatherCall call(layout, type);
        call.options.contents_check = check;
        if (check == ContentsCheck::kNone) call.options.workspace = {};
        CHECK(run(call, 12) == Status::ok());
        CHECK(call.has_rows_of(expected));
        CHECK_FALSE(call.has_rows_of(GatherCall(layout, type)));
      }
    }
  }
}

TEST_CASE("a gather of no tokens changes nothing, with a check of contents and without") {
  for (const ContentsCheck check : {ContentsCheck::kNone, ContentsCheck::kOnDevice}) {
    GatherCall call;
    call.options.contents_check = check;
    call.inputs.block_table.num_seqs = 0;
    call.inputs.context_length = {};
    call.inputs.context_start = {};
    CHECK(run(call, 12) == Status::ok());
    CHECK(call.has_rows_of(GatherCall()));
  }
  GatherCall empty;
  empty.lengths = {0, 0, 0};
  CHECK(run(empty, 0) == Status::ok());
  CHECK(empty.has_rows_of(GatherCall()));
}

TEST_CASE("rows of sequences may be adjacent, but not overlap") {
  GatherCall call;
  call.starts = {7, 0, 3};
  CHECK(run(call, 9) == Status::ok());
  GatherCall expected;
  expected.starts = {7, 0, 3};
  reference::gather_kv(expected.inputs);
  CHECK(call.has_rows_of(expected));
  call.starts = {7, 0, 4};
  CHECK(run(call, 9) ==
        Status::invalid_input(
            "context_start[2]: expected rows apart from those of sequence 0, got 4"));
}

TEST_CASE("a gather takes as many tokens as a grid has thread blocks for, and no more") {
  GatherCall call;
  CHECK(kernels::kGatheredMax == 2097120);
  call.options = {};
  call.lengths = {0, 0, 0};
  CHECK(kernels::check_gather({.kv = call.inputs.kv,
                               .max_context_length = kernels::kGatheredMax,
                               .k = call.inputs.k,
                               .v = call.inputs.v}) == Status::ok());
  CHECK(run(call, kernels::kGatheredMax + 1) ==
        Status::invalid_input("max_context_length: expected at most 2097120, got 2097121"));
}

}  // namespace
}  // namespace recto::verify
