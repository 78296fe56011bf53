// Faults of kernels that move K and V, each under its id in docs/known-bugs.md: on the executor.

#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache_ops.h"
#include "verify/qa/kv_caches.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/stream.h"

namespace recto::verify {
namespace {

using kernels::RepeatedSlots;

// Sets all elements of a block, and nothing between them.
void scramble(KvPool& pool, std::int64_t block, std::uint32_t code) {
  for (std::int64_t slot = 0; slot < pool.shape().block_size; ++slot) {
    for (std::int64_t head = 0; head < pool.shape().num_kv_heads; ++head) {
      for (std::int64_t dim = 0; dim < pool.shape().head_dim; ++dim) {
        pool.set_code(pool.place(block, head, slot, dim), code);
      }
    }
  }
}

void swap_blocks(const PagedKvView& from, const MutablePagedKvView& to,
                 const std::vector<BlockPair>& pairs) {
  simt::Executor executor({});
  simt::Stream stream(executor);
  CHECK(run_block_swap(from, to, pairs, {}, &stream) == Status::ok());
  CHECK(stream.synchronise().passed());
}

// Blocks 4 and 1 go to the host, are scrambled, and come back elsewhere. Nothing beside them
// changes, not even what lies between rows.
void check_round_trip(const TestPoolShape& shape) {
  Caches device(shape, 1);
  TestPoolShape host_shape = shape;
  host_shape.padding = 0;
  Caches host(host_shape, 9);
  const Caches before = device;
  swap_blocks(device.const_view(), host.view(), {{4, 2}, {1, 0}});
  Caches expected = before;
  for (KvPool* pool : {&device.k, &device.v, &expected.k, &expected.v}) {
    scramble(*pool, 4, 0x3c00);
    scramble(*pool, 1, 0x4000);
  }
  swap_blocks(host.const_view(), device.view(), {{2, 1}, {0, 4}});
  CHECK(codes_of(device.k, 1) == codes_of(before.k, 4));
  CHECK(codes_of(device.v, 1) == codes_of(before.v, 4));
  CHECK(codes_of(device.k, 4) == codes_of(before.k, 1));
  CHECK(codes_of(device.v, 4) == codes_of(before.v, 1));
  for (KvPool* pool : {&device.k, &device.v}) {
    scramble(*pool, 4, 0x3c00);
    scramble(*pool, 1, 0x4000);
  }
  CHECK(device.k.bytes() == expected.k.bytes());
  CHECK(device.v.bytes() == expected.v.bytes());
}

TEST_CASE("offload-padded-page-stride: blocks with gaps between them survive a round trip") {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor}) {
    for (const std::int64_t padding : {0, 8, 24}) check_round_trip(shape_of(layout, 4, padding));
  }
}

TEST_CASE("swap-size-factor: blocks of any size are swapped whole") {
  for (const std::int64_t block_size : {1, 2, 8, 16, 48, 64}) {
    check_round_trip(shape_of(KvLayout::kHeadMajor, block_size, 0));
    check_round_trip(shape_of(KvLayout::kTokenMajor, block_size, 0));
  }
}

TEST_CASE("swap-v-uses-k: keys are copied to keys, and values to values") {
  Caches cache(shape_of(KvLayout::kHeadMajor, 4, 8), 1);
  const Caches before = cache;
  simt::Executor executor({});
  simt::Stream stream(executor);
  const std::vector<BlockPair> pairs = {{5, 0}};
  CHECK(run_block_copy(cache.view(), pairs, {}, &stream) == Status::ok());
  CHECK(stream.synchronise().passed());
  REQUIRE(codes_of(before.k, 5) != codes_of(before.v, 5));
  CHECK(codes_of(cache.k, 0) == codes_of(before.k, 5));
  CHECK(codes_of(cache.v, 0) == codes_of(before.v, 5));
  check_round_trip(shape_of(KvLayout::kPacked, 4, 0));
}

TEST_CASE("pad-seq-len-zero-nan-into-cache: padding rows change no slot") {
  Caches cache(shape_of(KvLayout::kHeadMajor, 4, 0), 1);
  const Caches before = cache;
  RowPool k({.type = ElementType::kFp16, .num_rows = 4, .num_heads = 2, .head_dim = 16}, 5);
  RowPool v({.type = ElementType::kFp16, .num_rows = 4, .num_heads = 2, .head_dim = 16}, 6);
  for (std::int64_t row = 1; row < 4; ++row) {
    for (std::int64_t i = 0; i < 32; ++i) {
      k.set_code(row, i / 16, i % 16, 0x7e00);  // NaN
      v.set_code(row, i / 16, i % 16, 0x7e00);
    }
  }
  const std::vector<std::int64_t> slots = {9, -1, -1, -1};
  simt::Executor executor({});
  simt::Stream stream(executor);
  const KvWriteInputs step = {
      .k = k.const_view(), .v = v.const_view(), .slot_mapping = slots, .kv = cache.view()};
  CHECK(run_kv_write(step, RepeatedSlots::kNone, {}, &stream) == Status::ok());
  CHECK(stream.synchronise().passed());
  for (const std::int64_t block : {0, 1, 3, 4, 5}) {
    CHECK(codes_of(cache.k, block) == codes_of(before.k, block));
    CHECK(codes_of(cache.v, block) == codes_of(before.v, block));
  }
  for (std::int64_t dim = 0; dim < 16; ++dim) {
    CHECK(cache.k.code(cache.k.place(2, 1, 1, dim)) == k.code(0, 1, dim));
    CHECK(cache.k.code(cache.k.place(2, 1, 0, dim)) == before.k.code(before.k.place(2, 1, 0, dim)));
  }
}

}  // namespace
}  // namespace recto::verify
