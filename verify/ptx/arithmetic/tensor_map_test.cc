#include "verify/ptx/arithmetic/tensor_map.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::ptx {
namespace {

using Coordinates = std::array<std::int32_t, kTensorRankMax>;

// 100 x 60 x 7 numbers of 16 bits, in lines of 128 numbers.
TensorMap example() {
  TensorMap map = {.swizzle = Swizzle::k128Bytes, .rank = 3, .global_address = 1 << 20};
  map.sizes = {100, 60, 7};
  map.strides = {0, 256, 256 * 64};
  map.box = {64, 8, 2};
  return map;
}

std::string refusal(const std::function<void(TensorMap&)>& change) {
  TensorMap map = example();
  change(map);
  return checked(map).message();
}

// What a copy of the box would give, element by element: the numbers of the elements, -1 outside.
std::vector<int> copied(const TensorMap& map, const Coordinates& at) {
  std::vector<int> shared(box_bytes(map) / 2, -2);
  for (const BoxLine& line : box_lines(map, at)) {
    for (std::uint32_t byte = 0; byte < map.box[0] * 2; byte += 2) {
      const bool is_inside = byte >= line.begin && byte < line.end;
      shared[swizzled(line.shared_offset + byte, map.swizzle) / 2] =
          is_inside ? static_cast<int>((line.global_address + byte - map.global_address) / 2) : -1;
    }
  }
  return shared;
}

// The same from the definition: each element of the box by its coordinates.
std::vector<int> expected(const TensorMap& map, const Coordinates& at) {
  std::vector<int> shared;
  for (std::uint32_t z = 0; z < map.box[2]; z += map.steps[2]) {
    for (std::uint32_t y = 0; y < map.box[1]; y += map.steps[1]) {
      for (std::uint32_t x = 0; x < map.box[0]; ++x) {
        const int cx = at[0] + static_cast<int>(x);
        const int cy = at[1] + static_cast<int>(y);
        const int cz = at[2] + static_cast<int>(z);
        const bool is_inside = cx >= 0 && cx < 100 && cy >= 0 && cy < 60 && cz >= 0 && cz < 7;
        shared.push_back(is_inside ? cx + 128 * cy + 128 * 64 * cz : -1);
      }
    }
  }
  std::vector<int> swizzled_elements(shared.size());
  for (std::size_t i = 0; i < shared.size(); ++i) {
    // Pieces of eight numbers change places within 128 bytes, by the line of 128 bytes.
    const std::size_t line = i / 64;
    const std::size_t piece = i / 8 % 8 ^ (map.swizzle == Swizzle::kNone ? 0 : line % 8);
    swizzled_elements[line * 64 + piece * 8 + i % 8] = shared[i];
  }
  return swizzled_elements;
}

}  // namespace

TEST_CASE("boxes inside and across every border hold the elements of their coordinates") {
  for (const Swizzle swizzle : {Swizzle::kNone, Swizzle::k128Bytes}) {
    for (const std::uint32_t step : {1U, 3U}) {
      TensorMap map = example();
      map.swizzle = swizzle;
      map.steps[1] = step;
      REQUIRE(checked(map).is_ok());
      CHECK(box_bytes(map) == 128 * (step == 1 ? 8 : 3) * 2);
      for (const std::int32_t x : {-70, -64, -5, 0, 36, 50, 99, 100}) {
        for (const std::int32_t y : {-8, -3, 0, 52, 55, 60}) {
          for (const std::int32_t z : {-2, -1, 0, 6, 7}) {
            const Coordinates at = {x, y, z};
            REQUIRE(copied(map, at) == expected(map, at));
          }
        }
      }
    }
  }
}

TEST_CASE("a wrong stride or swizzle gives another copy") {
  TensorMap map = example();
  map.strides[1] = 272;
  CHECK(copied(map, {}) != expected(example(), {}));
  map = example();
  map.swizzle = Swizzle::kNone;
  CHECK(copied(map, {}) != expected(example(), {}));
}

TEST_CASE("maps that the driver would refuse are named") {
  CHECK(checked(example()).is_ok());
  const auto contains = [](const std::string& text) {
    return Catch::Matchers::ContainsSubstring(text);
  };
  CHECK_THAT(refusal([](TensorMap& m) { m.rank = 6; }),
             contains("tensorRank = 6; expected 1 to 5"));
  CHECK_THAT(refusal([](TensorMap& m) { m.global_address += 8; }), contains("globalAddress"));
  CHECK_THAT(refusal([](TensorMap& m) { m.sizes[1] = 0; }), contains("globalDim[1]"));
  CHECK_THAT(refusal([](TensorMap& m) { m.strides[2] += 8; }), contains("globalStrides[1]"));
  CHECK_THAT(refusal([](TensorMap& m) { m.strides[1] = std::uint64_t{1} << 40; }),
             contains("globalStrides[0]"));
  CHECK_THAT(refusal([](TensorMap& m) { m.box[2] = 257; }), contains("boxDim[2]"));
  CHECK_THAT(refusal([](TensorMap& m) { m.box[0] = 65; }), contains("multiple of 16"));
  CHECK_THAT(refusal([](TensorMap& m) { m.box[0] = 72; }), contains("at most the swizzle's 128"));
  CHECK_THAT(refusal([](TensorMap& m) { m.box[0] = 32; }), contains("not supported"));
  CHECK_THAT(refusal([](TensorMap& m) { m.steps[1] = 9; }), contains("elementStrides[1]"));
  CHECK_THAT(refusal([](TensorMap& m) {
               m.element = TensorElement::kU16;
               m.fill = TensorFill::kNan;
             }),
             contains("oobFill"));
  CHECK(refusal([](TensorMap& m) { m.box[2] = 256; }).empty());
}

TEST_CASE("encoded maps are decoded, and other bytes are not") {
  TensorMap map = example();
  map.sizes[0] = std::uint64_t{1} << 32;
  TensorMapBytes bytes = encode_tiled(map).value();
  const Result<TensorMap> result = decoded_tensor_map(bytes);
  REQUIRE(result.is_ok());
  CHECK(result.value() == map);
  bytes.bytes[0] ^= std::byte{1};
  CHECK_FALSE(decoded_tensor_map(bytes).is_ok());
  CHECK_FALSE(decoded_tensor_map({}).is_ok());
  map.rank = 0;
  CHECK_FALSE(encode_tiled(map).is_ok());
}

TEST_CASE("elements out of bounds are zero, or NaN of their type") {
  TensorMap map = example();
  CHECK(fill_pattern(map) == 0);
  map.fill = TensorFill::kNan;
  CHECK(fill_pattern(map) == 0x7fff);
  map.element = TensorElement::kF32;
  CHECK(fill_pattern(map) == 0x7fffffff);
}

TEST_CASE("elements have the sizes of their types") {
  CHECK(element_bytes(TensorElement::kU8) == 1);
  CHECK(element_bytes(TensorElement::kBf16) == 2);
  CHECK(element_bytes(TensorElement::kF32) == 4);
  CHECK(element_bytes(TensorElement::kS64) == 8);
}

}  // namespace recto::ptx
