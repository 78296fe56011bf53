// Tests of the rules for K and V of a cache that is written.

#include "core/view_gate.h"

#include "core/gate_test_calls.h"

namespace recto {
namespace {

using testing::address;
using testing::AttentionCall;
using testing::CacheCall;
using testing::check_rules;
using testing::pool_at;
using testing::small_pool;

MutablePagedKvView packed_pool() { return pool_at(small_pool(KvLayout::kPacked)); }

TEST_CASE("dense pools of every layout and type pass, also for kernels that load 16 bytes") {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    for (const ElementType type : kElementTypes) {
      INFO(layout << " " << type);
      KvPoolShape shape = small_pool(layout);
      shape.type = type;
      shape.head_dim_v = 16;
      CHECK(check_shapes(pool_at(shape), {}) == Status::ok());
      CHECK(check_shapes(pool_at(shape), {}, {.alignment_bytes = 16}) == Status::ok());
    }
  }
}

TEST_CASE("invalid sizes of a cache, and unequal ones of K and V, are refused by field") {
  check_rules<CacheCall>({
      {[](auto& c) {
         c.kv.k.num_blocks = c.kv.v.num_blocks = 0;
         c.kv.k.data = c.kv.v.data = nullptr;
       },
       [](auto& c) { c.kv.k.num_blocks = -1; }, "kv.k.num_blocks: expected at least 0, got -1"},
      {[](auto& c) { c.kv.k.num_blocks = c.kv.v.num_blocks = 1; },
       [](auto& c) { c.kv.v.num_blocks = 9; },
       "kv.v.num_blocks: expected 8 as in kv.k.num_blocks, got 9"},
      {[](auto& c) { c.kv.k.block_size = c.kv.v.block_size = 8; },
       [](auto& c) { c.kv.v.block_size = 8; },
       "kv.v.block_size: expected 16 as in kv.k.block_size, got 8"},
      {[](auto& c) { c.kv.k.num_kv_heads = c.kv.v.num_kv_heads = 1; },
       [](auto& c) { c.kv.v.num_kv_heads = 1; },
       "kv.v.num_kv_heads: expected 2 as in kv.k.num_kv_heads, got 1"},
      {[](auto&) {}, [](auto& c) { c.kv.k.num_kv_heads = 0; },
       "kv.k.num_kv_heads: expected at least 1, got 0"},
      {[](auto& c) { c.kv.v.head_dim = 1; }, [](auto& c) { c.kv.v.head_dim = 0; },
       "kv.v.head_dim: expected at least 1, got 0"},
      {[](auto&) {}, [](auto& c) { c.kv.k.data = nullptr; },
       "kv.k.data: expected an address, got null"},
      {[](auto&) {}, [](auto& c) { c.kv.v.data = nullptr; },
       "kv.v.data: expected an address, got null"},
      {[](auto& c) { c.kv.k.type = c.kv.v.type = ElementType::kBf16; },
       [](auto& c) { c.kv.v.type = ElementType::kBf16; },
       "kv.v.type: expected fp16 as in kv.k.type, got bf16"},
      {[](auto& c) { c.kv.k.layout = c.kv.v.layout = KvLayout::kHeadMajor; },
       [](auto& c) { c.kv.v.layout = KvLayout::kHeadMajor; },
       "kv.v.layout: expected token-major as in kv.k.layout, got head-major"},
      {[](auto&) {}, [](auto& c) { c.kv.v.type = static_cast<ElementType>(200); },
       "kv.v.type: expected an enumerator below 5, got 200"},
      {[](auto&) {}, [](auto& c) { c.kv.k.layout = static_cast<KvLayout>(3); },
       "kv.k.layout: expected an enumerator below 3, got 3"},
  });
}

TEST_CASE("block sizes are powers of two and multiples of 16") {
  const auto check = [](std::int64_t block_size) {
    KvPoolShape shape = small_pool();
    shape.block_size = 1;
    MutablePagedKvView kv = pool_at(shape);
    kv.k.num_blocks = kv.v.num_blocks = 1;
    kv.k.slot_stride = kv.v.slot_stride = 32;
    kv.k.block_size = kv.v.block_size = block_size;
    kv.v.data = address(std::uintptr_t{1} << 40);
    return check_shapes(kv, {});
  };
  for (const std::int64_t block_size : {1, 2, 4, 8, 16, 32, 48, 80, 512, 1008, 1024, 1 << 20}) {
    CHECK(check(block_size) == Status::ok());
  }
  for (const std::int64_t block_size : {3, 6, 12, 15, 17, 24, 40, 511, 520, 0, -16}) {
    CHECK(
        check(block_size) ==
        Status::invalid_input("kv.k.block_size: expected a power of two or a multiple of 16, got " +
                              std::to_string(block_size)));
  }
  CHECK_FALSE(check(std::numeric_limits<std::int64_t>::min()).is_ok());
}

TEST_CASE("a cache that is only read has no two elements in one place, either") {
  check_rules<AttentionCall>({
      {[](auto& c) { c.inputs.kv.k.block_size = c.inputs.kv.v.block_size = 8; },
       [](auto& c) { c.inputs.kv.k.block_size = c.inputs.kv.v.block_size = 32; },
       "kv.k.block_stride: expected at least 1024 (the inner dimensions' extent), got 512"},
      {[](auto& c) {  // V unchanged, K with adjacent slots
         c.inputs.kv.k.slot_stride = 16;
         c.inputs.kv.k.head_stride = 256;
       },
       [](auto& c) {
         c.inputs.kv.k.slot_stride = 15;
         c.inputs.kv.k.head_stride = 256;
       },
       "kv.k.slot_stride: expected at least 16 (the inner dimensions' extent), got 15"},
      {[](auto&) {}, [](auto& c) { c.inputs.kv.k.head_stride = 8; },
       "kv.k.head_stride: expected at least 16 (the inner dimensions' extent), got 8"},
      {[](auto& c) {  // the only step, so its stride is unused
         c.inputs.kv.k.num_blocks = c.inputs.kv.v.num_blocks = 1;
         c.inputs.kv.v.block_stride = 0;
       },
       [](auto& c) { c.inputs.kv.v.block_stride = 0; },
       "kv.v.block_stride: expected at least 8 (the inner dimensions' extent), got 0"},
      {[](auto& c) {
         c.inputs.kv.v.num_blocks = c.inputs.kv.k.num_blocks = std::int64_t{1} << 30;
         c.inputs.kv.v.data = address(std::uintptr_t{1} << 50);
         c.outputs.out.data = address(std::uintptr_t{1} << 60);
         c.outputs.lse_ln = {};
       },
       [](auto& c) { c.inputs.kv.v.num_blocks = c.inputs.kv.k.num_blocks = std::int64_t{1} << 60; },
       "kv.k.block_stride: expected an extent below 2^63 bytes, got 1152921504606846976 x 512 "
       "elements of 2 bytes"},
  });
}

TEST_CASE("a cache's strides are aligned, not negative, and give each element a place") {
  check_rules<CacheCall>({
      {[](auto& c) { c.kv.k.block_stride = 512; }, [](auto& c) { c.kv.k.block_stride = 511; },
       "kv.k.block_stride: expected at least 512 (the inner dimensions' extent), got 511"},
      {[](auto& c) { c.kv.k.block_stride = 520; }, [](auto& c) { c.kv.k.block_stride = -512; },
       "kv.k.block_stride: expected at least 0, got -512"},
      {[](auto&) {}, [](auto& c) { c.kv.v.slot_stride = 15; },
       "kv.v.slot_stride: expected at least 16 (the inner dimensions' extent), got 15"},
      {[](auto&) {}, [](auto& c) { c.kv.v.head_stride = 7; },
       "kv.v.head_stride: expected at least 8 (the inner dimensions' extent), got 7"},
      {[](auto&) {}, [](auto& c) { c.kv.v.head_stride = -1; },
       "kv.v.head_stride: expected at least 0, got -1"},
      {[](auto& c) { c.kv.k.data = address(0x20002); },
       [](auto& c) { c.kv.k.data = address(0x20003); },
       "kv.k.data: expected a multiple of 2 bytes, got 0x20003"},
      {[](auto& c) { c.kv.v.block_stride = 260; },
       [](auto& c) {
         c.kv.v.block_stride = 260;
         c.gate.alignment_bytes = 16;
       },
       "kv.v.block_stride: expected a multiple of 8 elements (16 bytes), got 260"},
      {[](auto& c) { c.kv.v.block_stride = 264; },
       [](auto& c) { c.kv.v.block_stride = std::int64_t{1} << 62; },
       "kv.v.block_stride: expected an extent below 2^63 bytes, got 8 x 4611686018427387904 "
       "elements of 2 bytes"},
      {[](auto&) {}, [](auto& c) { c.kv.k.head_dim = std::int64_t{1} << 62; },
       "kv.k.head_dim: expected an extent below 2^63 bytes, got 4611686018427387904 x 1 elements "
       "of 2 bytes"},
  });
}

TEST_CASE("pack widths and strides match the layout") {
  check_rules<CacheCall>({
      {[](auto&) {}, [](auto& c) { c.kv.k.pack_width = 8; },
       "kv.k.pack_width: expected 0 in the token-major layout, got 8"},
      {[](auto&) {}, [](auto& c) { c.kv.v.pack_stride = 1; },
       "kv.v.pack_stride: expected 0 in the token-major layout, got 1"},
      {[](auto& c) { c.kv = packed_pool(); },
       [](auto& c) {
         c.kv = packed_pool();
         c.kv.k.pack_width = 4;
       },
       "kv.k.pack_width: expected 8 in the packed layout, got 4"},
      {[](auto& c) { c.kv = packed_pool(); },
       [](auto& c) {
         c.kv = packed_pool();
         c.kv.v.pack_width = 0;
       },
       "kv.v.pack_width: expected 1 in the packed layout, got 0"},
      {[](auto& c) {
         c.kv = packed_pool();
         c.kv.v.pack_stride = 24;
         c.kv.v.head_stride = 8 * 24;
         c.kv.v.block_stride = 2 * 8 * 24;
       },
       [](auto& c) {
         c.kv = packed_pool();
         c.kv.v.slot_stride = 2;
       },
       "kv.v.slot_stride: expected 1 in the packed layout, got 2"},
      {[](auto& c) {
         c.kv = packed_pool();
         c.kv.k.head_dim = 8;
       },
       [](auto& c) {
         c.kv = packed_pool();
         c.kv.k.head_dim = 12;
       },
       "kv.k.head_dim: expected a multiple of kv.k.pack_width = 8, got 12"},
      {[](auto& c) { c.kv = packed_pool(); },
       [](auto& c) {
         c.kv = packed_pool();
         c.kv.v.pack_stride = 15;
       },
       "kv.v.pack_stride: expected at least 16 (the inner dimensions' extent), got 15"},
      {[](auto& c) { c.kv = packed_pool(); },
       [](auto& c) {
         c.kv = packed_pool();
         c.kv.k.slot_stride = 7;
       },
       "kv.k.slot_stride: expected at least 8 (the inner dimensions' extent), got 7"},
  });
}

void use_fp8(AttentionCall& call) {
  call.inputs.kv.k.type = call.inputs.kv.v.type = ElementType::kE4m3;
}

TEST_CASE("only fp8 caches have scales, of a known kind and with data") {
  check_rules<AttentionCall>({
      {[](auto& c) { use_fp8(c); },  // a scale of shape [1]
       [](auto& c) {
         use_fp8(c);
         c.inputs.kv.k.scale = {ScaleKind::kPerTensor, nullptr};
       },
       "kv.k.scale.data: expected an address, got null"},
      {[](auto& c) {
         use_fp8(c);
         c.inputs.kv.k.scale = {ScaleKind::kPerKvHead, c.scales.data()};
         c.inputs.kv.v.scale = {ScaleKind::kPerTensor, c.scales.data()};
       },
       [](auto& c) {
         c.inputs.kv.v.scale = {ScaleKind::kPerKvHead, c.scales.data()};
       },
       "kv.v.scale.kind: expected none (only fp8 is scaled), got a scale of fp16"},
      {[](auto& c) { use_fp8(c); },
       [](auto& c) {
         use_fp8(c);
         c.inputs.kv.k.scale = {ScaleKind::kNone, c.scales.data()};
       },
       "kv.k.scale.data: expected null with a scale kind of none, got an address"},
      {[](auto& c) { use_fp8(c); },
       [](auto& c) {
         use_fp8(c);
         c.inputs.kv.k.scale = {static_cast<ScaleKind>(3), c.scales.data()};
       },
       "kv.k.scale.kind: expected an enumerator below 3, got 3"},
  });
}

// The cache is [0x20000, 0x21000). The scales end at its first byte, or inside it.
TEST_CASE("a tensor has one scale, or one for each KV head") {
  const auto use_scale = [](CacheCall& call, ScaleKind kind) {
    call.kv.k.type = call.kv.v.type = ElementType::kE5m2;
    call.kv.k.scale = {kind, static_cast<const float*>(address(0x1fffc))};
    return call.check();
  };
  CacheCall call;
  CHECK(use_scale(call, ScaleKind::kPerTensor) == Status::ok());
  CHECK(use_scale(call, ScaleKind::kPerKvHead) ==
        Status::invalid_input("kv.k.data: expected memory apart from kv.k.scale at [0x1fffc, "
                              "0x20004), got [0x20000, 0x21000)"));
}

}  // namespace
}  // namespace recto
