#include "core/dense_kv_view.h"

#include <set>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto {
namespace {

KvPoolShape pool(KvLayout layout, ElementType type) {
  return {.layout = layout,
          .type = type,
          .num_blocks = 3,
          .block_size = 4,
          .num_kv_heads = 2,
          .head_dim_k = 32,
          .head_dim_v = 5};
}

// Computes every offset of a tensor by the formula in the view's header.
std::vector<std::int64_t> offsets(const MutableKvTensorView& view) {
  std::vector<std::int64_t> offsets;
  for (std::int64_t block = 0; block < view.num_blocks; ++block) {
    for (std::int64_t head = 0; head < view.num_kv_heads; ++head) {
      for (std::int64_t slot = 0; slot < view.block_size; ++slot) {
        for (std::int64_t dim = 0; dim < view.head_dim; ++dim) {
          const bool is_packed = view.layout == KvLayout::kPacked;
          const std::int64_t in_head =
              is_packed ? dim / view.pack_width * view.pack_stride + dim % view.pack_width : dim;
          offsets.push_back(block * view.block_stride + head * view.head_stride +
                            slot * view.slot_stride + in_head);
        }
      }
    }
  }
  return offsets;
}

TEST_CASE("a dense pool has no element twice and none left over, in all layouts and types") {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    for (const ElementType type : kElementTypes) {
      INFO(layout << " " << type);
      const KvPoolShape shape = pool(layout, type);
      const KvPoolElements elements = count_pool_elements(shape).value();
      CHECK(elements.k == 3 * 4 * 2 * 32);
      CHECK(elements.v == 3 * 4 * 2 * 5);
      const MutablePagedKvView view = dense_kv_view(shape, nullptr, nullptr).value();
      for (const auto& [tensor, count] : {std::pair(&view.k, elements.k), {&view.v, elements.v}}) {
        const std::vector<std::int64_t> all = offsets(*tensor);
        const std::set<std::int64_t> distinct(all.begin(), all.end());
        CHECK(static_cast<std::int64_t>(all.size()) == count);
        CHECK(static_cast<std::int64_t>(distinct.size()) == count);
        CHECK(*distinct.begin() == 0);
        CHECK(*distinct.rbegin() == count - 1);
      }
    }
  }
}

TEST_CASE("token-major: dims, heads, slots, blocks from the inside out") {
  const auto k =
      dense_kv_view(pool(KvLayout::kTokenMajor, ElementType::kBf16), nullptr, nullptr).value().k;
  CHECK(k.head_stride == 32);
  CHECK(k.slot_stride == 2 * 32);
  CHECK(k.block_stride == 4 * 2 * 32);
  CHECK(k.pack_width == 0);
  CHECK(k.pack_stride == 0);
}

TEST_CASE("head-major: dims, slots, heads, blocks from the inside out") {
  const auto v =
      dense_kv_view(pool(KvLayout::kHeadMajor, ElementType::kBf16), nullptr, nullptr).value().v;
  CHECK(v.slot_stride == 5);
  CHECK(v.head_stride == 4 * 5);
  CHECK(v.block_stride == 2 * 4 * 5);
  CHECK(v.pack_width == 0);
  CHECK(v.pack_stride == 0);
}

TEST_CASE("packed: 16 bytes of K dims side by side, and the slots of one V dim") {
  for (const auto& [type, width] :
       {std::pair(ElementType::kFp32, 4), {ElementType::kFp16, 8}, {ElementType::kE4m3, 16}}) {
    const auto view = dense_kv_view(pool(KvLayout::kPacked, type), nullptr, nullptr).value();
    CHECK(view.k.pack_width == width);
    CHECK(view.k.slot_stride == width);
    CHECK(view.k.pack_stride == 4 * width);
    CHECK(view.k.head_stride == 4 * 32);
    CHECK(view.v.pack_width == 1);
    CHECK(view.v.slot_stride == 1);
    CHECK(view.v.pack_stride == 4);
    CHECK(view.v.head_stride == 4 * 5);
    CHECK(view.v.block_stride == 2 * 4 * 5);
  }
}

TEST_CASE("a view carries its shape and pointers, and no scale") {
  float k = 0;
  float v = 0;
  const auto view = dense_kv_view(pool(KvLayout::kHeadMajor, ElementType::kE5m2), &k, &v).value();
  CHECK(view.k.data == &k);
  CHECK(view.v.data == &v);
  CHECK(view.k.type == ElementType::kE5m2);
  CHECK(view.v.layout == KvLayout::kHeadMajor);
  CHECK(view.v.num_blocks == 3);
  CHECK(view.v.block_size == 4);
  CHECK(view.v.num_kv_heads == 2);
  CHECK(view.k.head_dim == 32);
  CHECK(view.v.head_dim == 5);
  CHECK(view.k.scale.kind == ScaleKind::kNone);
}

TEST_CASE("a dense pool with a size below its minimum is refused, at the minimum it passes") {
  const auto check = [](const KvPoolShape& shape) {
    const Status status = dense_kv_view(shape, nullptr, nullptr).status();
    CHECK(count_pool_elements(shape).status() == status);
    return status;
  };
  const KvPoolShape valid = pool(KvLayout::kPacked, ElementType::kFp16);
  KvPoolShape shape = valid;
  shape.num_blocks = 0;
  CHECK(check(shape).is_ok());
  shape.num_blocks = -1;
  CHECK(check(shape) == Status::invalid_input("num_blocks: expected at least 0, got -1"));
  const auto check_positive = [&](const std::string& name, std::int64_t KvPoolShape::*size,
                                  std::int64_t least) {
    shape = valid;
    shape.*size = least;
    CHECK(check(shape).is_ok());
    shape.*size = 0;
    CHECK(check(shape) == Status::invalid_input(name + ": expected at least 1, got 0"));
  };
  check_positive("block_size", &KvPoolShape::block_size, 1);
  check_positive("num_kv_heads", &KvPoolShape::num_kv_heads, 1);
  check_positive("head_dim_k", &KvPoolShape::head_dim_k, 8);
  check_positive("head_dim_v", &KvPoolShape::head_dim_v, 1);
}

TEST_CASE("packed K needs whole packs, other layouts do not") {
  KvPoolShape shape = pool(KvLayout::kPacked, ElementType::kE4m3);
  CHECK(count_pool_elements(shape).is_ok());
  shape.head_dim_k = 24;
  CHECK(count_pool_elements(shape).status() ==
        Status::invalid_input("head_dim_k: expected a multiple of pack_width = 16, got 24"));
  shape.layout = KvLayout::kHeadMajor;
  CHECK(count_pool_elements(shape).is_ok());
}

TEST_CASE("a pool ends below 2^63 bytes") {
  KvPoolShape shape = pool(KvLayout::kTokenMajor, ElementType::kFp16);
  shape.head_dim_v = 32;
  shape.num_blocks = (std::int64_t{1} << 54) - 1;  // each block has 512 bytes
  CHECK(count_pool_elements(shape).is_ok());
  shape.head_dim_v = 64;
  CHECK(count_pool_elements(shape).status() ==
        Status::invalid_input("v: expected fewer than 2^63 bytes, got 18014398509481983 x 4 x 2 x "
                              "64 elements of 2 bytes"));
  ++shape.num_blocks;
  CHECK(count_pool_elements(shape).status() ==
        Status::invalid_input("k: expected fewer than 2^63 bytes, got 18014398509481984 x 4 x 2 x "
                              "32 elements of 2 bytes"));
  shape = pool(KvLayout::kTokenMajor, ElementType::kFp16);
  shape.num_blocks = 0;
  shape.head_dim_k = std::int64_t{1} << 62;
  CHECK_FALSE(count_pool_elements(shape).is_ok());
  shape.head_dim_k = 1;
  CHECK(count_pool_elements(shape).is_ok());
}

}  // namespace
}  // namespace recto
