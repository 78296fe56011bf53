#include "core/byte_footprint.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "bazel/testing/property.h"
#include "core/contract.h"

namespace recto {
namespace {

constexpr std::int64_t kTop = std::numeric_limits<std::int64_t>::max();

const void* at(std::int64_t address) { return reinterpret_cast<const void*>(address); }

// fp16 [count of b, count of a, 8], at 0x1000.
StridedTensor tensor(StrideLevel a, StrideLevel b) {
  return {.name = "t",
          .data = at(0x1000),
          .element_bytes = 2,
          .run_field = "dim",
          .run = 8,
          .levels = {a, b}};
}

ByteFootprint footprint(const StridedTensor& strided) { return footprint_of(strided, 0).value(); }

Status refusal_of(const StridedTensor& strided, std::int64_t alignment = 0) {
  return footprint_of(strided, alignment).status();
}

TEST_CASE("a footprint ends at the last byte, sorts levels by stride and drops single steps") {
  StridedTensor strided = tensor({"a", 3, 100}, {"b", 5, 20});
  strided.levels[2] = {"c", 1, 7};
  const ByteFootprint bytes = footprint(strided);
  CHECK(bytes.begin == 0x1000);
  CHECK(bytes.run_bytes == 16);
  CHECK(bytes.num_levels == 2);
  CHECK(bytes.levels[0].stride_bytes == 40);
  CHECK(bytes.levels[0].span_bytes == 4 * 40 + 16);
  CHECK(bytes.span_bytes() == 2 * 200 + 4 * 40 + 16);
  CHECK(bytes.range() == "[0x1000, 0x1240)");
}

TEST_CASE("the footprint of a tensor without elements is empty, whatever its address") {
  StridedTensor strided = tensor({"a", 0, 8}, {"b", kTop, kTop});
  strided.data = at(3);
  CHECK(footprint(strided).span_bytes() == 0);
  strided.data = nullptr;
  CHECK(footprint(strided).span_bytes() == 0);
  strided = tensor({"a", 1, 8}, {});
  CHECK(footprint(strided).span_bytes() == 16);
  strided.data = nullptr;
  CHECK(refusal_of(strided) == Status::invalid_input("t.data: expected an address, got null"));
}

TEST_CASE("negative strides are refused, zero is not") {
  CHECK(refusal_of(tensor({"a", 3, 0}, {})).is_ok());
  CHECK(refusal_of(tensor({"a", 3, -1}, {})) ==
        Status::invalid_input("t.a: expected at least 0, got -1"));
}

TEST_CASE("the last byte is below 2^63, from address and strides") {
  // Two rows of 16 bytes. The last byte of the second row has the largest address that is allowed.
  const std::int64_t longest = (kTop - 16 - 0x1000) / 2;
  CHECK(refusal_of(tensor({"a", 2, longest}, {})).is_ok());
  CHECK(refusal_of(tensor({"a", 2, longest + 1}, {})) ==
        Status::invalid_input("t.data: expected an address from which 9223372036854771712 bytes "
                              "end below 2^63, got 0x1000"));
  CHECK(refusal_of(tensor({"a", 2, (kTop - 16) / 2 + 1}, {})) ==
        Status::invalid_input("t.a: expected an extent below 2^63 bytes, got 2 x "
                              "4611686018427387896 elements of 2 bytes"));
  CHECK(refusal_of(tensor({"a", 3, 1}, {"b", 2, kTop})) ==
        Status::invalid_input("t.b: expected an extent below 2^63 bytes, got 2 x "
                              "9223372036854775807 elements of 2 bytes"));
  StridedTensor strided = tensor({}, {});
  strided.run = kTop;
  CHECK(refusal_of(strided) ==
        Status::invalid_input("t.dim: expected an extent below 2^63 bytes, got "
                              "9223372036854775807 x 1 elements of 2 bytes"));
  strided.run = 8;
  strided.data = at(kTop - 17);
  CHECK(refusal_of(strided).is_ok());
  strided.data = at(kTop - 15);
  CHECK(refusal_of(strided) ==
        Status::invalid_input("t.data: expected an address from which 16 bytes end below 2^63, got "
                              "0x7ffffffffffffff0"));
  strided.data = at(-16);
  CHECK(refusal_of(strided) ==
        Status::invalid_input("t.data: expected an address from which 16 bytes end below 2^63, got "
                              "0xfffffffffffffff0"));
}

TEST_CASE("data and strides are multiples of the alignment, and at least of an element") {
  StridedTensor strided = tensor({"a", 2, 16}, {"b", 1, 3});
  CHECK(refusal_of(strided, 16).is_ok());
  strided.data = at(0x1008);
  CHECK(refusal_of(strided, 8).is_ok());
  CHECK(refusal_of(strided, 16) ==
        Status::invalid_input("t.data: expected a multiple of 16 bytes, got 0x1008"));
  strided.data = at(0x1001);
  CHECK(refusal_of(strided) ==
        Status::invalid_input("t.data: expected a multiple of 2 bytes, got 0x1001"));
  CHECK(refusal_of(tensor({"a", 2, 12}, {}), 8).is_ok());
  CHECK(refusal_of(tensor({"a", 2, 12}, {}), 16) ==
        Status::invalid_input("t.a: expected a multiple of 8 elements (16 bytes), got 12"));
}

TEST_CASE("an alignment that is no power of two is refused") {
  CHECK(refusal_of(tensor({}, {}), 12) ==
        Status::invalid_input("alignment_bytes: expected 0 or a power of two, got 12"));
  CHECK_FALSE(refusal_of(tensor({}, {}), -16).is_ok());
  CHECK(refusal_of(tensor({}, {}), 16).is_ok());
}

TEST_CASE("each stride steps over what lies within") {
  CHECK(check_nested(footprint(tensor({"a", 4, 8}, {"b", 2, 32}))).is_ok());
  CHECK(check_nested(footprint(tensor({"a", 4, 7}, {"b", 2, 32}))) ==
        Status::invalid_input("t.a: expected at least 8 (the inner dimensions' extent), got 7"));
  CHECK(check_nested(footprint(tensor({"a", 4, 8}, {"b", 2, 31}))) ==
        Status::invalid_input("t.b: expected at least 32 (the inner dimensions' extent), got 31"));
  CHECK(check_nested(footprint(tensor({"a", 4, 64}, {"b", 8, 8}))).is_ok());
  CHECK(check_nested(footprint(tensor({"a", 1, 0}, {}))).is_ok());
  CHECK_FALSE(check_nested(footprint(tensor({"a", 2, 0}, {}))).is_ok());
}

TEST_CASE("slices that interleave are apart, and meet when one grows by an element") {
  StridedTensor left = tensor({"a", 4, 24}, {"b", 3, 200});
  StridedTensor right = left;
  right.name = "u";
  right.data = at(0x1000 + 16);
  CHECK_FALSE(do_overlap(footprint(left), footprint(right)));
  CHECK(check_apart(footprint(left), footprint(right)).is_ok());
  right.data = at(0x1000 + 32);  // the last third of each step
  CHECK_FALSE(do_overlap(footprint(right), footprint(left)));
  right.run = 9;
  CHECK(do_overlap(footprint(right), footprint(left)));
  CHECK(check_apart(footprint(right), footprint(left)) ==
        Status::invalid_input("u.data: expected memory apart from t at [0x1000, 0x13c0), got "
                              "[0x1020, 0x13e2)"));
  right.levels[0].count = 1;  // ends where the second step of `left` would begin
  right.levels[1].count = 1;
  left.levels[0].count = 1;
  CHECK_FALSE(do_overlap(footprint(right), footprint(left)));
}

TEST_CASE("a tensor without elements overlaps nothing") {
  const StridedTensor full = tensor({"a", 4, 8}, {});
  StridedTensor empty = tensor({"a", 0, 8}, {});
  empty.data = at(0x1010);
  CHECK(do_overlap(footprint(full), footprint(full)));
  CHECK_FALSE(do_overlap(footprint(full), footprint(empty)));
  CHECK_FALSE(do_overlap(footprint(empty), footprint(full)));
}

// Counts, for every byte, the elements that hold it.
std::vector<std::int64_t> bytes_of(const StridedTensor& strided) {
  std::vector<std::int64_t> first = {reinterpret_cast<std::intptr_t>(strided.data)};
  const auto spread = [&](std::int64_t count, std::int64_t stride) {
    std::vector<std::int64_t> next;
    for (const std::int64_t begin : first) {
      for (std::int64_t i = 0; i < count; ++i) next.push_back(begin + i * stride);
    }
    first = next;
  };
  for (const StrideLevel& level : strided.levels) {
    spread(level.count, level.stride * strided.element_bytes);
  }
  spread(strided.run * strided.element_bytes, 1);
  return first;
}

StridedTensor draw_tensor(Draw& draw) {
  StridedTensor strided{.name = "t", .data = nullptr, .run_field = "dim", .levels = {}};
  strided.element_bytes = draw.element<std::int64_t>({1, 2, 4});
  strided.data = at(64 + strided.element_bytes * draw.growing(0, 23));
  strided.run = draw.growing(0, 4);
  for (std::size_t i = 0; i < 3; ++i) {
    strided.levels[i] = {"stride", draw.growing(0, 3), draw.growing(0, 39)};
  }
  return strided;
}

// Draws nested strides with gaps.
StridedTensor draw_nested_tensor(Draw& draw) {
  StridedTensor strided = draw_tensor(draw);
  std::int64_t span = strided.run;
  for (std::size_t i = 0; i < 3; ++i) {
    StrideLevel& level = strided.levels[i];
    level.stride = span + draw.growing(0, 3);
    span += std::max<std::int64_t>(level.count - 1, 0) * level.stride;
  }
  return strided;
}

template <typename T>
bool do_meet(const std::vector<T>& left, const std::vector<T>& right) {
  const std::set<T> all(left.begin(), left.end());
  return std::any_of(right.begin(), right.end(), [&](T byte) { return all.contains(byte); });
}

TEST_CASE("spans, nesting and overlap of footprints agree with sets of bytes") {
  property("the span is that of the bytes", [](Draw& draw) {
    const StridedTensor strided = draw_tensor(draw);
    const std::vector<std::int64_t> bytes = bytes_of(strided);
    const ByteFootprint found = footprint(strided);
    if (bytes.empty()) {
      RECTO_REQUIRE(found.span_bytes() == 0);
      return;
    }
    const auto [first, last] = std::minmax_element(bytes.begin(), bytes.end());
    RECTO_REQUIRE(found.begin == *first);
    RECTO_REQUIRE(found.begin + found.span_bytes() == *last + 1);
  });
  property("nested tensors have no byte twice", [](Draw& draw) {
    const StridedTensor strided = draw_tensor(draw);
    if (!check_nested(footprint(strided)).is_ok()) discard_case();
    const std::vector<std::int64_t> bytes = bytes_of(strided);
    RECTO_REQUIRE(std::set<std::int64_t>(bytes.begin(), bytes.end()).size() == bytes.size());
  });
  property("tensors that step over what lies within are nested", [](Draw& draw) {
    RECTO_REQUIRE(check_nested(footprint(draw_nested_tensor(draw))).is_ok());
  });
  property("tensors said to be apart have no byte in common", [](Draw& draw) {
    const StridedTensor left = draw_tensor(draw);
    const StridedTensor right = draw.boolean() ? draw_tensor(draw) : draw_nested_tensor(draw);
    if (do_overlap(footprint(left), footprint(right))) discard_case();
    RECTO_REQUIRE(!do_meet(bytes_of(left), bytes_of(right)));
  });
  property("slices of one buffer overlap exactly if they have a byte in common", [](Draw& draw) {
    const StridedTensor left = draw_nested_tensor(draw);
    StridedTensor right = left;
    right.data = at(64 + left.element_bytes * draw.growing(0, 119));
    right.run = draw.growing(0, left.run);
    for (StrideLevel& level : right.levels) {
      level.count = draw.growing(0, level.count);
    }
    const bool meet = do_meet(bytes_of(left), bytes_of(right));
    if (meet) draw.classify("meet");
    RECTO_REQUIRE(do_overlap(footprint(left), footprint(right)) == meet);
    RECTO_REQUIRE(do_overlap(footprint(right), footprint(left)) == meet);
  });
}

}  // namespace
}  // namespace recto
