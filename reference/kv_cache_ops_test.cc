#include "reference/kv_cache_ops.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "reference/rounding.h"
#include "reference/testing/kv_pool.h"

namespace recto::reference {
namespace {

constexpr TestPoolShape kShape = {.layout = KvLayout::kTokenMajor,
                                  .type = ElementType::kFp32,
                                  .num_blocks = 3,
                                  .block_size = 2,
                                  .num_kv_heads = 2,
                                  .head_dim = 2,
                                  .padding = 1};

// K and V of new tokens, and their caches. V has one more dim and its own layout.
struct WriteCase {
  WriteCase(ElementType source, ElementType cache, std::int64_t tokens)
      : k(shape_of(cache, 2, KvLayout::kTokenMajor), 1),
        v(shape_of(cache, 3, KvLayout::kHeadMajor), 2),
        new_k({.type = source, .num_rows = tokens, .num_heads = 2, .head_dim = 2, .padding = 1}, 3),
        new_v({.type = source, .num_rows = tokens, .num_heads = 2, .head_dim = 3, .padding = 1},
              4) {}

  static TestPoolShape shape_of(ElementType type, std::int64_t head_dim, KvLayout layout) {
    TestPoolShape shape = kShape;
    shape.type = type;
    shape.head_dim = head_dim;
    shape.layout = layout;
    return shape;
  }

  KvWriteInputs inputs(std::span<const std::int64_t> slots) {
    KvWriteInputs inputs = {.k = new_k.const_view(),
                            .v = new_v.const_view(),
                            .slot_mapping = slots,
                            .kv = {.k = k.view(), .v = v.view()}};
    inputs.kv.k.scale = k_scale;
    inputs.kv.v.scale = v_scale;
    return inputs;
  }
  void write(const std::vector<std::int64_t>& slots) { write_kv(inputs(slots)); }

  KvPool k;
  KvPool v;
  RowPool new_k;
  RowPool new_v;
  KvScale k_scale;
  KvScale v_scale;
};

// The code that K's cache holds in slot 0, head 0, dim 0 after a token with this source code is
// written.
std::uint32_t written(ElementType source, ElementType cache, std::uint32_t code, float scale) {
  WriteCase write(source, cache, 1);
  write.k_scale = {.kind = ScaleKind::kPerTensor, .data = &scale};
  if (!is_fp8(cache)) write.k_scale = {};
  write.new_k.set_code(0, 0, 0, code);
  write.write({0});
  return write.k.code(write.k.place(0, 0, 0, 0));
}

std::uint32_t from_fp32(float value, ElementType cache, float scale = 1.0F) {
  return written(ElementType::kFp32, cache, std::bit_cast<std::uint32_t>(value), scale);
}

TEST_CASE("a slot is block_size * block + offset; token t goes to slot_mapping[t]") {
  WriteCase write(ElementType::kBf16, ElementType::kBf16, 2);
  write.write({5, 0});
  for (std::int64_t head = 0; head < 2; ++head) {
    CHECK(write.k.code(write.k.place(2, head, 1, 1)) == write.new_k.code(0, head, 1));
    CHECK(write.k.code(write.k.place(0, head, 0, 1)) == write.new_k.code(1, head, 1));
    CHECK(write.v.code(write.v.place(2, head, 1, 2)) == write.new_v.code(0, head, 2));
    CHECK(write.v.code(write.v.place(0, head, 0, 2)) == write.new_v.code(1, head, 2));
  }
}

TEST_CASE("slot -1 writes nothing, slot 0 does") {
  WriteCase write(ElementType::kFp16, ElementType::kFp16, 1);
  const std::vector<std::byte> k = write.k.bytes();
  const std::vector<std::byte> v = write.v.bytes();
  write.write({-1});
  CHECK(write.k.bytes() == k);
  CHECK(write.v.bytes() == v);
  write.write({0});
  CHECK(write.k.bytes() != k);
  CHECK(write.v.bytes() != v);
}

TEST_CASE("the later of two tokens for one slot stays") {
  WriteCase write(ElementType::kFp32, ElementType::kFp32, 3);
  write.write({3, 3, -1});
  CHECK(write.k.code(write.k.place(1, 1, 1, 0)) == write.new_k.code(1, 1, 0));
  CHECK(write.k.code(write.k.place(1, 1, 1, 0)) != write.new_k.code(0, 1, 0));
}

TEST_CASE("equal types keep every bit, a signalling NaN's too") {
  CHECK(written(ElementType::kFp16, ElementType::kFp16, 0x7c01, 1.0F) == 0x7c01);
  CHECK(written(ElementType::kBf16, ElementType::kBf16, 0xff81, 1.0F) == 0xff81);
  CHECK(written(ElementType::kFp32, ElementType::kFp32, 0x7f800001, 1.0F) == 0x7f800001);
}

TEST_CASE("fp32 is rounded to nearest even for fp16 and bf16 caches") {
  CHECK(from_fp32(1.0F + 0x1p-11F, ElementType::kFp16) == 0x3c00);
  CHECK(from_fp32(1.0F + 0x1.8p-10F, ElementType::kFp16) == 0x3c02);
  CHECK(from_fp32(65520.0F, ElementType::kFp16) == 0x7c00);
  CHECK(from_fp32(65519.0F, ElementType::kFp16) == 0x7bff);
  CHECK(from_fp32(-0x1p-24F, ElementType::kFp16) == 0x8001);
  CHECK(from_fp32(1.0F + 0x1p-8F, ElementType::kBf16) == 0x3f80);
  CHECK(from_fp32(1.0F + 0x1.8p-7F, ElementType::kBf16) == 0x3f82);
}

TEST_CASE("fp8: quotient, nearest even, saturation, subnormals, NaN; bit for bit") {
  const float inf = INFINITY;
  CHECK(from_fp32(448.0F, ElementType::kE4m3) == 0x7e);
  CHECK(from_fp32(1e30F, ElementType::kE4m3) == 0x7e);
  CHECK(from_fp32(-inf, ElementType::kE4m3) == 0xfe);
  CHECK(from_fp32(NAN, ElementType::kE4m3) == 0x7f);
  CHECK(from_fp32(1.0625F, ElementType::kE4m3) == 0x38);
  CHECK(from_fp32(1.1875F, ElementType::kE4m3) == 0x3a);
  CHECK(from_fp32(0x1p-9F, ElementType::kE4m3) == 0x01);
  CHECK(from_fp32(0x1p-10F, ElementType::kE4m3) == 0x00);
  CHECK(from_fp32(-0x1.8p-10F, ElementType::kE4m3) == 0x81);
  CHECK(from_fp32(61440.0F, ElementType::kE5m2) == 0x7b);
  CHECK(from_fp32(inf, ElementType::kE5m2) == 0x7b);
  CHECK(from_fp32(NAN, ElementType::kE5m2) == 0x7e);
  CHECK(from_fp32(-0x1p-16F, ElementType::kE5m2) == 0x81);
  CHECK(from_fp32(3.0F, ElementType::kE4m3, 0.5F) == encode(6.0, ElementType::kE4m3));
  // The exact quotient is above the midpoint of 1 and 1.125; in fp32 it is the midpoint, which
  // rounds to even: 1.
  CHECK(from_fp32(0x1.61999ap+0F, ElementType::kE4m3, 1.3F) == 0x38);
  CHECK(written(ElementType::kFp16, ElementType::kE4m3, 0x4200, 2.0F) == 0x3c);
  CHECK(written(ElementType::kBf16, ElementType::kE5m2, 0x4040, 2.0F) == 0x3e);
}

TEST_CASE("each head of K and of V has its own scale") {
  WriteCase write(ElementType::kFp32, ElementType::kE4m3, 1);
  const std::vector<float> k_scales = {1.0F, 2.0F};
  const std::vector<float> v_scales = {4.0F, 8.0F};
  write.k_scale = {.kind = ScaleKind::kPerKvHead, .data = k_scales.data()};
  write.v_scale = {.kind = ScaleKind::kPerKvHead, .data = v_scales.data()};
  for (std::int64_t head = 0; head < 2; ++head) {
    write.new_k.set_code(0, head, 1, std::bit_cast<std::uint32_t>(8.0F));
    write.new_v.set_code(0, head, 1, std::bit_cast<std::uint32_t>(8.0F));
  }
  write.write({0});
  CHECK(decode(write.k.code(write.k.place(0, 0, 0, 1)), ElementType::kE4m3) == 8.0);
  CHECK(decode(write.k.code(write.k.place(0, 1, 0, 1)), ElementType::kE4m3) == 4.0);
  CHECK(decode(write.v.code(write.v.place(0, 0, 0, 1)), ElementType::kE4m3) == 2.0);
  CHECK(decode(write.v.code(write.v.place(0, 1, 0, 1)), ElementType::kE4m3) == 1.0);
}

TEST_CASE("writes outside the pool and types that do not go together are refused") {
  WriteCase write(ElementType::kFp16, ElementType::kFp16, 1);
  CHECK_NOTHROW(write.write({5}));
  CHECK_THROWS_AS(write.write({6}), ContractFailure);
  CHECK_THROWS_AS(write.write({-2}), ContractFailure);
  CHECK_THROWS_AS(write.write({0, 1}), ContractFailure);
  CHECK_NOTHROW(WriteCase(ElementType::kFp32, ElementType::kBf16, 1).write({0}));
  CHECK_THROWS_AS(WriteCase(ElementType::kFp16, ElementType::kBf16, 1).write({0}), ContractFailure);
  CHECK_THROWS_AS(WriteCase(ElementType::kFp16, ElementType::kFp32, 1).write({0}), ContractFailure);
  CHECK_THROWS_AS(WriteCase(ElementType::kE4m3, ElementType::kE4m3, 1).write({0}), ContractFailure);
}

TEST_CASE("blocks are copied within the pool, and no destination is a source") {
  KvPool k(kShape, 1);
  KvPool v(kShape, 2);
  const MutablePagedKvView kv = {.k = k.view(), .v = v.view()};
  const auto copy = [&kv](const std::vector<BlockPair>& pairs) { copy_blocks(kv, pairs); };
  CHECK_NOTHROW(copy({{0, 2}, {0, 1}}));
  CHECK(k.code(k.place(1, 1, 0, 1)) == k.code(k.place(0, 1, 0, 1)));
  CHECK(v.code(v.place(2, 0, 1, 0)) == v.code(v.place(0, 0, 1, 0)));
  CHECK_THROWS_AS(copy({{0, 1}, {1, 2}}), ContractFailure);
  CHECK_THROWS_AS(copy({{1, 1}}), ContractFailure);
  CHECK_THROWS_AS(copy({{0, 3}}), ContractFailure);
  CHECK_THROWS_AS(copy({{3, 0}}), ContractFailure);
  CHECK_THROWS_AS(copy({{0, -1}}), ContractFailure);
}

TEST_CASE("blocks go between pools of other sizes, not of other shapes or types") {
  TestPoolShape host_shape = kShape;
  host_shape.num_blocks = 7;
  KvPool device(kShape, 1);
  KvPool host(host_shape, 2);
  const auto swap = [&device](KvPool& to, const std::vector<BlockPair>& pairs) {
    swap_blocks({.k = device.const_view(), .v = device.const_view()},
                {.k = to.view(), .v = to.view()}, pairs);
  };
  CHECK_NOTHROW(swap(host, {{2, 6}}));
  CHECK(host.code(host.place(6, 1, 1, 1)) == device.code(device.place(2, 1, 1, 1)));
  CHECK_THROWS_AS(swap(host, {{3, 6}}), ContractFailure);
  CHECK_THROWS_AS(swap(host, {{2, 7}}), ContractFailure);
  host_shape.block_size = 4;
  KvPool other(host_shape, 3);
  CHECK_THROWS_AS(swap(other, {{2, 0}}), ContractFailure);
}

TEST_CASE("a context is gathered from the blocks of its table, and not from beyond") {
  KvPool k(kShape, 1);
  KvPool v(kShape, 2);
  RowPool rows_k({.num_rows = 4, .num_heads = 2, .head_dim = 2}, 3);
  RowPool rows_v({.num_rows = 4, .num_heads = 2, .head_dim = 2}, 4);
  const std::vector<std::int32_t> table = {2, 0, -7};
  const auto gather = [&](std::int32_t length, std::int64_t start) {
    gather_kv(
        {.kv = {.k = k.const_view(), .v = v.const_view()},
         .block_table = {.data = table.data(), .num_seqs = 1, .max_blocks = 3, .row_stride = 3},
         .context_length = std::span<const std::int32_t>(&length, 1),
         .context_start = std::span<const std::int64_t>(&start, 1),
         .k = rows_k.view(),
         .v = rows_v.view()});
  };
  CHECK_NOTHROW(gather(3, 1));
  CHECK(rows_k.code(1, 1, 0) == k.code(k.place(2, 1, 0, 0)));
  CHECK(rows_k.code(2, 1, 0) == k.code(k.place(2, 1, 1, 0)));
  CHECK(rows_v.code(3, 0, 1) == v.code(v.place(0, 0, 0, 1)));
  CHECK_NOTHROW(gather(4, 0));
  CHECK_THROWS_AS(gather(4, 1), ContractFailure);
  CHECK_THROWS_AS(gather(5, 0), ContractFailure);
}

}  // namespace
}  // namespace recto::reference
