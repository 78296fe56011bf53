#include "reference/testing/kv_pool.h"

#include <cstring>
#include <set>

#include "bazel/testing/catch.h"

namespace recto::reference {
namespace {

// Two blocks of two slots, two heads, four dims in packs of two; one element of padding at each
// level.
TestPoolShape small_shape(KvLayout layout) {
  return {.layout = layout,
          .type = ElementType::kBf16,
          .num_blocks = 2,
          .block_size = 2,
          .num_kv_heads = 2,
          .head_dim = 4,
          .pack_width = 2,
          .padding = 1};
}

TEST_CASE("places are counted in storage order, gaps included") {
  const KvPool token_major(small_shape(KvLayout::kTokenMajor), 1);
  CHECK(token_major.place(0, 0, 0, 3) == 3);
  CHECK(token_major.place(0, 1, 0, 0) == 5);
  CHECK(token_major.place(0, 0, 1, 0) == 11);
  const KvPool head_major(small_shape(KvLayout::kHeadMajor), 1);
  CHECK(head_major.place(0, 0, 1, 0) == 5);
  CHECK(head_major.place(0, 1, 0, 0) == 11);
  const KvPool packed(small_shape(KvLayout::kPacked), 1);
  CHECK(packed.place(0, 0, 0, 1) == 1);
  CHECK(packed.place(0, 0, 1, 0) == 3);
  CHECK(packed.place(0, 0, 0, 2) == 7);
  CHECK(packed.place(0, 1, 0, 0) == 15);
}

TEST_CASE("every element has a place of its own, within the memory that the view spans") {
  const auto layout = GENERATE(KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked);
  KvPool pool(small_shape(layout), 1);
  std::set<std::int64_t> places;
  for (std::int64_t block = 0; block < 2; ++block) {
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t slot = 0; slot < 2; ++slot) {
        for (std::int64_t dim = 0; dim < 4; ++dim)
          places.insert(pool.place(block, head, slot, dim));
      }
    }
  }
  CHECK(places.size() == 32);
  CHECK(*places.begin() == 0);
  CHECK(*places.rbegin() < 2 * pool.view().block_stride);
}

TEST_CASE("a code set at a place is what the view's memory holds there, and nothing else changes") {
  KvPool pool(small_shape(KvLayout::kHeadMajor), 1);
  const std::vector<std::byte> before = pool.bytes();
  const std::uint32_t old = pool.code(5);
  pool.set_code(5, old ^ 0xffff);
  std::uint16_t stored = 0;
  std::memcpy(&stored, static_cast<const std::uint16_t*>(pool.view().data) + 5, sizeof(stored));
  CHECK(stored == (old ^ 0xffff));
  CHECK(pool.bytes() != before);
  pool.set_code(5, old);
  CHECK(pool.bytes() == before);
}

TEST_CASE("rows have gaps after each head and each row") {
  RowPool rows(
      {.type = ElementType::kFp16, .num_rows = 2, .num_heads = 3, .head_dim = 4, .padding = 1}, 7);
  CHECK(rows.view().head_stride == 5);
  CHECK(rows.view().row_stride == 16);
  rows.set_code(1, 2, 3, 0xabcd);
  std::uint16_t stored = 0;
  std::memcpy(&stored, static_cast<const std::uint16_t*>(rows.view().data) + 16 + 10 + 3, 2);
  CHECK(stored == 0xabcd);
  CHECK(rows.code(1, 2, 3) == 0xabcd);
}

}  // namespace
}  // namespace recto::reference
