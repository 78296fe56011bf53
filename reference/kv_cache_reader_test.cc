#include "reference/kv_cache_reader.h"

#include <cmath>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "reference/rounding.h"
#include "reference/testing/kv_pool.h"

namespace recto::reference {
namespace {

// Two blocks of two slots, two heads, four dims, without gaps: the layouts' own shapes.
KvTensorView tight_view(KvLayout layout) {
  KvTensorView view{.type = ElementType::kFp16,
                    .layout = layout,
                    .num_blocks = 2,
                    .block_size = 2,
                    .num_kv_heads = 2,
                    .head_dim = 4,
                    .block_stride = 16,
                    .scale = {}};
  if (layout == KvLayout::kTokenMajor) {
    view.slot_stride = 8;
    view.head_stride = 4;
  } else {
    view.head_stride = 8;
    view.slot_stride = 4;
  }
  return view;
}

TEST_CASE("token-major: a walk over blocks, slots, heads and dims counts the elements") {
  const KvTensorView view = tight_view(KvLayout::kTokenMajor);
  std::int64_t next = 0;
  for (std::int64_t block = 0; block < 2; ++block) {
    for (std::int64_t slot = 0; slot < 2; ++slot) {
      for (std::int64_t head = 0; head < 2; ++head) {
        for (std::int64_t dim = 0; dim < 4; ++dim) {
          CHECK(element_offset(view, block, head, slot, dim) == next++);
        }
      }
    }
  }
  CHECK(next == 32);
}

TEST_CASE("head-major: a walk over blocks, heads, slots and dims counts the elements") {
  const KvTensorView view = tight_view(KvLayout::kHeadMajor);
  std::int64_t next = 0;
  for (std::int64_t block = 0; block < 2; ++block) {
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t slot = 0; slot < 2; ++slot) {
        for (std::int64_t dim = 0; dim < 4; ++dim) {
          CHECK(element_offset(view, block, head, slot, dim) == next++);
        }
      }
    }
  }
  CHECK(next == 32);
}

TEST_CASE("packed K: a walk over blocks, heads, packs, slots and lanes counts the elements") {
  KvTensorView view = tight_view(KvLayout::kPacked);
  view.pack_width = 2;
  view.slot_stride = 2;
  view.pack_stride = 4;
  std::int64_t next = 0;
  for (std::int64_t block = 0; block < 2; ++block) {
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t pack = 0; pack < 2; ++pack) {
        for (std::int64_t slot = 0; slot < 2; ++slot) {
          for (std::int64_t lane = 0; lane < 2; ++lane) {
            CHECK(element_offset(view, block, head, slot, 2 * pack + lane) == next++);
          }
        }
      }
    }
  }
  CHECK(next == 32);
}

TEST_CASE("packed V: a walk over blocks, heads, dims and slots counts the elements") {
  KvTensorView view = tight_view(KvLayout::kPacked);
  view.pack_width = 1;
  view.slot_stride = 1;
  view.pack_stride = 2;
  std::int64_t next = 0;
  for (std::int64_t block = 0; block < 2; ++block) {
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t dim = 0; dim < 4; ++dim) {
        for (std::int64_t slot = 0; slot < 2; ++slot) {
          CHECK(element_offset(view, block, head, slot, dim) == next++);
        }
      }
    }
  }
  CHECK(next == 32);
}

TEST_CASE("addresses worked out by hand: a padded slice, and a pool of more than 2^31 elements") {
  // Layer 3 of [blocks, layers = 4, slots = 16, heads = 8, dims = 128] starts where data points.
  KvTensorView view = tight_view(KvLayout::kTokenMajor);
  view.block_stride = 4 * 16 * 8 * 128;
  view.slot_stride = 8 * 128;
  view.head_stride = 128;
  CHECK(element_offset(view, 2, 5, 7, 100) == 131072 + 7168 + 640 + 100);
  CHECK(element_offset(view, 1'000'000, 0, 0, 1) == 65'536'000'001);

  // vLLM v0's K for bf16: [blocks, 8, 128 / 8, 16, 8].
  KvTensorView packed = tight_view(KvLayout::kPacked);
  packed.pack_width = 8;
  packed.slot_stride = 8;
  packed.pack_stride = 16 * 8;
  packed.head_stride = 16 * 16 * 8;
  packed.block_stride = 8 * 16 * 16 * 8;
  CHECK(element_offset(packed, 1, 2, 3, 77) == 16384 + 4096 + 9 * 128 + 24 + 5);
}

const TestPoolShape kShape = {.num_blocks = 5,
                              .block_size = 3,
                              .num_kv_heads = 2,
                              .head_dim = 12,
                              .pack_width = 4,
                              .padding = 3};

TestPoolShape shape_of(KvLayout layout, ElementType type, std::int64_t pack_width = 4) {
  TestPoolShape shape = kShape;
  shape.layout = layout;
  shape.type = type;
  shape.pack_width = pack_width;
  return shape;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

TEST_CASE("a gathered context has each token's values, found by counting through the pool") {
  const auto type = GENERATE(from_range(kElementTypes.begin(), kElementTypes.end()));
  const auto layout = GENERATE(KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked);
  const auto pack_width = GENERATE(1, 4);
  KvPool pool(shape_of(layout, type, pack_width), 11);
  KvTensorView view = pool.const_view();
  const std::vector<float> scales = {0.1F, 7.0F};
  if (is_fp8(type)) view.scale = {.kind = ScaleKind::kPerKvHead, .data = scales.data()};

  // Entries beyond the sequence's three blocks are not read.
  const std::vector<std::int32_t> table = {4, 0, 2, -1, 1'000'000};
  const std::int64_t length = 8;
  std::int64_t failures = 0;
  for (std::int64_t head = 0; head < 2; ++head) {
    const double scale = is_fp8(type) ? scales[static_cast<std::size_t>(head)] : 1.0;
    const Matrix values = gather_head(view, table.data(), length, head);
    REQUIRE(values.rows() == length);
    REQUIRE(values.cols() == 12);
    for (std::int64_t token = 0; token < length; ++token) {
      const std::int64_t block = table[static_cast<std::size_t>(token / 3)];
      Eigen::RowVectorXd row(12);
      read_slot(view, block, head, token % 3, row);
      for (std::int64_t dim = 0; dim < 12; ++dim) {
        const std::uint32_t code = pool.code(pool.place(block, head, token % 3, dim));
        const double expected = decode(code, type) * scale;
        failures += same(values(token, dim), expected) ? 0 : 1;
        failures += same(row(dim), expected) ? 0 : 1;
      }
    }
  }
  CAPTURE(type, layout, pack_width);
  CHECK(failures == 0);
}

TEST_CASE("a scale is 1, the tensor's or the head's, and its product with a code is exact") {
  KvPool pool(shape_of(KvLayout::kHeadMajor, ElementType::kE4m3), 1);
  pool.set_code(pool.place(1, 1, 2, 3), 0x3d);  // 1.625
  KvTensorView view = pool.const_view();
  CHECK(scale_of(view, 1) == 1.0);
  const std::vector<float> scales = {0.1F, 0x1.fffffep-100F};
  Eigen::RowVectorXd row(12);
  view.scale = {.kind = ScaleKind::kPerTensor, .data = scales.data()};
  CHECK(scale_of(view, 1) == static_cast<double>(0.1F));
  read_slot(view, 1, 1, 2, row);
  CHECK(row(3) == 1.625 * static_cast<double>(0.1F));
  view.scale.kind = ScaleKind::kPerKvHead;
  CHECK(scale_of(view, 0) == static_cast<double>(0.1F));
  CHECK(scale_of(view, 1) == 0x1.fffffep-100);
  read_slot(view, 1, 1, 2, row);
  CHECK(row(3) == std::ldexp(3.25 - 1.625 * 0x1p-23, -100));
}

TEST_CASE("an empty context gives no rows, without reading the block table") {
  KvPool pool(kShape, 1);
  CHECK(gather_head(pool.const_view(), nullptr, 0, 0).rows() == 0);
}

TEST_CASE("blocks, slots and heads outside the pool are refused, the last ones inside are read") {
  KvPool pool(kShape, 1);
  const KvTensorView view = pool.const_view();
  Eigen::RowVectorXd row(12);
  CHECK_NOTHROW(read_slot(view, 4, 1, 2, row));
  CHECK_NOTHROW(read_slot(view, 0, 0, 0, row));
  CHECK_THROWS_AS(read_slot(view, 5, 1, 2, row), ContractFailure);
  CHECK_THROWS_AS(read_slot(view, -1, 1, 2, row), ContractFailure);
  CHECK_THROWS_AS(read_slot(view, 4, 2, 2, row), ContractFailure);
  CHECK_THROWS_AS(read_slot(view, 4, 1, 3, row), ContractFailure);
  Eigen::RowVectorXd short_row(11);
  CHECK_THROWS_AS(read_slot(view, 4, 1, 2, short_row), ContractFailure);
  const std::vector<std::int32_t> table = {4, -1};
  CHECK_NOTHROW(gather_head(view, table.data(), 3, 0));
  CHECK_THROWS_AS(gather_head(view, table.data(), 4, 0), ContractFailure);
}

TEST_CASE("rows of heads are read with their strides") {
  const auto type = GENERATE(ElementType::kFp32, ElementType::kFp16, ElementType::kBf16);
  RowPool rows({.type = type, .num_rows = 4, .num_heads = 3, .head_dim = 5, .padding = 2}, 5);
  const Matrix values = read_rows(rows.const_view(), 2, 1, 3);
  REQUIRE(values.rows() == 3);
  REQUIRE(values.cols() == 5);
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t dim = 0; dim < 5; ++dim) {
      CHECK(same(values(row, dim), decode(rows.code(1 + row, 2, dim), type)));
    }
  }
  CHECK(read_rows(rows.const_view(), 0, 4, 0).rows() == 0);
  CHECK_THROWS_AS(read_rows(rows.const_view(), 2, 2, 3), ContractFailure);
  CHECK_THROWS_AS(read_rows(rows.const_view(), 2, -1, 3), ContractFailure);
  CHECK_THROWS_AS(read_rows(rows.const_view(), 3, 1, 3), ContractFailure);
}

}  // namespace
}  // namespace recto::reference
