// Tests of check_shapes() for calls that move K and V: write, copy, swap.

#include "core/attention_gate.h"
#include "core/gate_test_calls.h"

namespace recto {
namespace {

using testing::address;
using testing::CacheCall;
using testing::check_rules;
using testing::kKAddress;
using testing::pool_at;
using testing::small_pool;
using testing::WriteCall;

// The small pool with V's head dim as K's, both in one buffer. Each slice holds K, then V.
enum class Interleaving { kBlocks, kHeads, kSlots };

MutablePagedKvView interleaved_pool(KvLayout layout, Interleaving level) {
  KvPoolShape shape = small_pool(layout);
  shape.head_dim_v = shape.head_dim_k;
  MutablePagedKvView kv = pool_at(shape);
  std::int64_t slice = 0;
  for (MutableKvTensorView* tensor : {&kv.k, &kv.v}) {
    const std::int64_t lowest = level == Interleaving::kBlocks  ? tensor->block_stride
                                : level == Interleaving::kHeads ? tensor->head_stride
                                                                : tensor->slot_stride;
    slice = lowest;
    for (std::int64_t* stride :
         {&tensor->block_stride, &tensor->head_stride, &tensor->slot_stride}) {
      if (*stride >= lowest) *stride *= 2;
    }
  }
  kv.v.data = address(kKAddress + static_cast<std::uintptr_t>(2 * slice));
  return kv;
}

TEST_CASE("K and V may interleave in one buffer, by blocks, heads or slots") {
  using enum Interleaving;
  using enum KvLayout;
  for (const auto& [layout, level] : {std::pair(kTokenMajor, kBlocks),
                                      {kTokenMajor, kSlots},
                                      {kTokenMajor, kHeads},
                                      {kHeadMajor, kBlocks},
                                      {kHeadMajor, kHeads},
                                      {kHeadMajor, kSlots},
                                      {kPacked, kBlocks},
                                      {kPacked, kHeads}}) {
    INFO(layout << " " << static_cast<int>(level));
    const MutablePagedKvView kv = interleaved_pool(layout, level);
    CHECK(check_shapes(kv, {}) == Status::ok());
    CHECK(check_shapes(kv, {}, {.alignment_bytes = 16}) == Status::ok());
    MutablePagedKvView moved = kv;
    moved.v.data = static_cast<std::byte*>(kv.v.data) - 2;
    CHECK(check_shapes(moved, {}).message().find(
              "kv.v.data: expected memory apart from kv.k at ") == 0);
    moved.v.data = static_cast<std::byte*>(kv.v.data) + 2;
    CHECK_FALSE(check_shapes(moved, {}).is_ok());
  }
}

TEST_CASE("K and V of unequal head dims interleave too") {
  MutablePagedKvView kv = pool_at(small_pool());
  for (MutableKvTensorView* tensor : {&kv.k, &kv.v}) {
    tensor->head_stride = 24;
    tensor->slot_stride = 48;
    tensor->block_stride = 16 * 48;
  }
  kv.v.data = address(kKAddress + 32);
  CHECK(check_shapes(kv, {}) == Status::ok());
  kv.v.head_dim = 9;
  CHECK(check_shapes(kv, {}) ==
        Status::invalid_input("kv.v.data: expected memory apart from kv.k at [0x20000, 0x22ff0), "
                              "got [0x20020, 0x23002)"));
}

TEST_CASE("a layer of a buffer [num_blocks, 2, num_layers, slots, heads, dims] is a cache") {
  MutablePagedKvView kv = pool_at(small_pool());
  kv.v = kv.k;
  const std::int64_t layer = kv.k.block_stride;
  kv.k.block_stride = kv.v.block_stride = 2 * 3 * layer;
  kv.v.data = address(kKAddress + static_cast<std::uintptr_t>(2 * 3 * layer));
  CHECK(check_shapes(kv, {}) == Status::ok());
  kv.v.block_stride += 8;  // no longer slices of one buffer
  CHECK_FALSE(check_shapes(kv, {}).is_ok());
}

TEST_CASE("K and V of a cache that is written are apart") {
  check_rules<CacheCall>({
      {[](auto& c) { c.kv.v.data = address(0x22000); },
       [](auto& c) { c.kv.v.data = address(0x21ffe); },
       "kv.v.data: expected memory apart from kv.k at [0x20000, 0x22000), got [0x21ffe, 0x22ffe)"},
      {[](auto& c) { c.kv.v.data = address(0x1f000); },
       [](auto& c) { c.kv.v.data = address(0x20000); },
       "kv.v.data: expected memory apart from kv.k at [0x20000, 0x22000), got [0x20000, 0x21000)"},
  });
}

void use_types(WriteCall& call, ElementType rows, ElementType cache) {
  call.inputs.k.type = call.inputs.v.type = rows;
  call.inputs.kv.k.type = call.inputs.kv.v.type = cache;
}

TEST_CASE("a valid write passes, and so does a write of no tokens") {
  WriteCall call;
  CHECK(call.check() == Status::ok());
  call.inputs.slot_mapping = {};
  call.inputs.k.num_rows = call.inputs.v.num_rows = 0;
  call.inputs.k.data = call.inputs.v.data = nullptr;
  CHECK(call.check() == Status::ok());
}

TEST_CASE("all pairs of types that can be written pass, all others do not") {
  int passed = 0;
  for (const ElementType rows : kElementTypes) {
    for (const ElementType cache : kElementTypes) {
      WriteCall call;
      use_types(call, rows, cache);
      passed += call.check().is_ok() ? 1 : 0;
    }
  }
  CHECK(passed == 11);
}

TEST_CASE("tokens to be written have the cache's heads and dims, and a slot each") {
  check_rules<WriteCall>({
      {[](auto&) {}, [](auto& c) { c.inputs.k.num_heads = 1; },
       "k.num_heads: expected 2 as in kv.k.num_kv_heads, got 1"},
      {[](auto&) {}, [](auto& c) { c.inputs.v.num_heads = 4; },
       "v.num_heads: expected 2 as in kv.v.num_kv_heads, got 4"},
      {[](auto&) {}, [](auto& c) { c.inputs.k.head_dim = 8; },
       "k.head_dim: expected 16 as in kv.k.head_dim, got 8"},
      {[](auto&) {}, [](auto& c) { c.inputs.v.head_dim = 16; },
       "v.head_dim: expected 8 as in kv.v.head_dim, got 16"},
      {[](auto&) {}, [](auto& c) { c.inputs.k.num_rows = 3; },
       "k.num_rows: expected 4 as in slot_mapping.size, got 3"},
      {[](auto&) {}, [](auto& c) { c.inputs.v.num_rows = 5; },
       "v.num_rows: expected 4 as in slot_mapping.size, got 5"},
      {[](auto& c) { use_types(c, ElementType::kFp32, ElementType::kBf16); },
       [](auto& c) { use_types(c, ElementType::kBf16, ElementType::kFp32); },
       "kv.k.type: expected one of bf16, e4m3, e5m2 as k.type is bf16, got fp32"},
      {[](auto& c) { use_types(c, ElementType::kFp32, ElementType::kFp16); },
       [](auto& c) { c.inputs.v.type = ElementType::kFp32; },
       "v.type: expected fp16 as in k.type, got fp32"},
      {[](auto&) {}, [](auto& c) { c.inputs.k.data = nullptr; },
       "k.data: expected an address, got null"},
      {[](auto& c) { c.inputs.v.row_stride = 0; }, [](auto& c) { c.inputs.v.row_stride = -1; },
       "v.row_stride: expected at least 0, got -1"},
      {[](auto& c) { c.inputs.k.data = address(0x20000 - 256); },
       [](auto& c) { c.inputs.k.data = address(0x20000 - 254); },
       "k.data: expected memory apart from kv.k at [0x20000, 0x22000), got [0x1ff02, 0x20002)"},
      {[](auto& c) { c.inputs.v.data = address(0x31000); },
       [](auto& c) { c.inputs.v.data = address(0x30ffe); },
       "v.data: expected memory apart from kv.v at [0x30000, 0x31000), got [0x30ffe, 0x3107e)"},
      {[](auto& c) { c.inputs.v.data = address(0x50000); },
       [](auto& c) {
         c.inputs.slot_mapping = {static_cast<const std::int64_t*>(address(0x30ff8)), 4};
       },
       "slot_mapping.data: expected memory apart from kv.v at [0x30000, 0x31000), got [0x30ff8, "
       "0x31018)"},
  });
}

std::span<const BlockPair> pairs_at(std::uintptr_t at, std::size_t count) {
  return {static_cast<const BlockPair*>(address(at)), count};
}

TEST_CASE("block pairs to copy are aligned, and overlap no part of the written cache") {
  const MutablePagedKvView kv = pool_at(small_pool());
  const auto refused = [&](std::uintptr_t at, std::size_t count) {
    return check_shapes(kv, pairs_at(at, count)).message();
  };
  CHECK(refused(0x1fff4, 1) == "");
  CHECK(refused(0x22000, 3) == "");
  CHECK(refused(0, 0) == "");
  CHECK(refused(0x1fffc, 1) ==
        "copies.data: expected memory apart from kv.k at [0x20000, 0x22000), got [0x1fffc, "
        "0x20004)");
  CHECK(refused(0x30ff8, 2) ==
        "copies.data: expected memory apart from kv.v at [0x30000, 0x31000), got [0x30ff8, "
        "0x31008)");
  CHECK(refused(0x22002, 1) == "copies.data: expected a multiple of 4 bytes, got 0x22002");
  CHECK(refused(0, 1) == "copies.data: expected an address, got null");
}

struct SwapCall {
  MutablePagedKvView from = pool_at(small_pool());
  MutablePagedKvView to = [] {
    KvPoolShape shape = small_pool(KvLayout::kHeadMajor);
    shape.num_blocks = 20;
    return dense_kv_view(shape, address(0x40000), address(0x50000)).value();
  }();

  Status check() const { return check_shapes(as_const(from), to, {}); }
};

TEST_CASE("blocks are swapped between caches of equal blocks") {
  check_rules<SwapCall>({
      {[](auto& c) {
         c.from.k.type = c.from.v.type = c.to.k.type = c.to.v.type = ElementType::kBf16;
       },
       [](auto& c) { c.to.k.type = c.to.v.type = ElementType::kBf16; },
       "to.k.type: expected fp16 as in from.k.type, got bf16"},
      {[](auto&) {}, [](auto& c) { c.to.k.block_size = c.to.v.block_size = 8; },
       "to.k.block_size: expected 16 as in from.k.block_size, got 8"},
      {[](auto&) {}, [](auto& c) { c.to.k.num_kv_heads = c.to.v.num_kv_heads = 1; },
       "to.k.num_kv_heads: expected 2 as in from.k.num_kv_heads, got 1"},
      {[](auto&) {}, [](auto& c) { c.to.k.head_dim = 8; },
       "to.k.head_dim: expected 16 as in from.k.head_dim, got 8"},
      {[](auto&) {}, [](auto& c) { c.to.v.head_dim = 7; },
       "to.v.head_dim: expected 8 as in from.v.head_dim, got 7"},
      {[](auto& c) { c.to.v.block_stride = 264; }, [](auto& c) { c.to.v.block_stride = 0; },
       "to.v.block_stride: expected at least 8 (the inner dimensions' extent), got 0"},
      {[](auto& c) { c.from.v.block_stride = 264; }, [](auto& c) { c.from.v.block_stride = 0; },
       "from.v.block_stride: expected at least 8 (the inner dimensions' extent), got 0"},
      {[](auto& c) { c.from.v.data = c.from.k.data; }, [](auto& c) { c.to.k.data = c.from.v.data; },
       "to.k.data: expected memory apart from from.v at [0x30000, 0x31000), got [0x30000, "
       "0x35000)"},
      {[](auto&) {}, [](auto& c) { c.from.k.data = nullptr; },
       "from.k.data: expected an address, got null"},
  });
}

}  // namespace
}  // namespace recto
