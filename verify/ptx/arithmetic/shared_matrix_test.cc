#include "verify/ptx/arithmetic/shared_matrix.h"

#include <cstdint>
#include <set>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::ptx {
namespace {

constexpr Swizzle kSwizzles[] = {Swizzle::kNone, Swizzle::k32Bytes, Swizzle::k64Bytes,
                                 Swizzle::k128Bytes};

// A CuTe layout of one index: the coordinates of nested modes, innermost first, times strides. The
// last mode has no bound.
struct Mode {
  std::uint32_t shape;
  std::uint32_t stride;
};
std::uint32_t place(std::uint32_t index, const std::vector<Mode>& modes) {
  std::uint32_t offset = 0;
  for (const Mode& mode : modes) {
    offset += (mode.shape == 0 ? index : index % mode.shape) * mode.stride;
    if (mode.shape != 0) index /= mode.shape;
  }
  return offset;
}

// The ISA's canonical layouts, in elements; T elements have 16 bytes.
struct Canonical {
  Swizzle swizzle;
  Major major;
  std::vector<Mode> mn;
  std::vector<Mode> k;
};
std::vector<Canonical> canonical_layouts(std::uint32_t t, std::uint32_t lbo, std::uint32_t sbo) {
  using enum Swizzle;
  return {
      {kNone, Major::kMn, {{t, 1}, {1, t}, {0, sbo}}, {{8, 1 * t}, {0, lbo}}},
      {k32Bytes, Major::kMn, {{t, 1}, {2, t}, {0, lbo}}, {{8, 2 * t}, {0, sbo}}},
      {k64Bytes, Major::kMn, {{t, 1}, {4, t}, {0, lbo}}, {{8, 4 * t}, {0, sbo}}},
      {k128Bytes, Major::kMn, {{t, 1}, {8, t}, {0, lbo}}, {{8, 8 * t}, {0, sbo}}},
      {kNone, Major::kK, {{8, 1 * t}, {0, sbo}}, {{t, 1}, {0, lbo}}},
      {k32Bytes, Major::kK, {{8, 2 * t}, {0, sbo}}, {{t, 1}, {0, t}}},
      {k64Bytes, Major::kK, {{8, 4 * t}, {0, sbo}}, {{t, 1}, {0, t}}},
      {k128Bytes, Major::kK, {{8, 8 * t}, {0, sbo}}, {{t, 1}, {0, t}}},
  };
}

}  // namespace

// The ISA's tables: line r of 128 bytes holds these pieces of 16 bytes.
TEST_CASE("swizzling exchanges pieces as the ISA's tables show") {
  const std::vector<std::vector<std::uint32_t>> tables[] = {
      {{0, 1, 2, 3, 4, 5, 6, 7}},
      {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 3, 2, 5, 4, 7, 6}},
      {{0, 1, 2, 3, 4, 5, 6, 7},
       {1, 0, 3, 2, 5, 4, 7, 6},
       {2, 3, 0, 1, 6, 7, 4, 5},
       {3, 2, 1, 0, 7, 6, 5, 4}},
      {{0, 1, 2, 3, 4, 5, 6, 7},
       {1, 0, 3, 2, 5, 4, 7, 6},
       {2, 3, 0, 1, 6, 7, 4, 5},
       {3, 2, 1, 0, 7, 6, 5, 4},
       {4, 5, 6, 7, 0, 1, 2, 3},
       {5, 4, 7, 6, 1, 0, 3, 2},
       {6, 7, 4, 5, 2, 3, 0, 1},
       {7, 6, 5, 4, 3, 2, 1, 0}},
  };
  for (const Swizzle swizzle : kSwizzles) {
    const auto& table = tables[static_cast<unsigned>(swizzle)];
    for (std::uint32_t line = 0; line < 16; ++line) {
      for (std::uint32_t piece = 0; piece < 8; ++piece) {
        const std::uint32_t address = swizzled(128 * line + 16 * piece + 5, swizzle);
        CHECK(address / 128 == line);
        CHECK(table[line % table.size()][address / 16 % 8] == piece);
        CHECK(address % 16 == 5);
      }
    }
  }
}

TEST_CASE("pieces are where the canonical layouts place their elements") {
  // In elements of 16 bits; T = 8. The offsets are multiples of what a pattern needs.
  const std::uint32_t t = 8;
  const std::uint32_t lbo = 2048;
  const std::uint32_t sbo = 512;
  for (const Canonical& layout : canonical_layouts(t, lbo, sbo)) {
    INFO("swizzle " << static_cast<int>(layout.swizzle) << ", major "
                    << static_cast<int>(layout.major));
    const SharedMatrix matrix = {.start = 4096,
                                 .leading_bytes = 2 * lbo,
                                 .stride_bytes = 2 * sbo,
                                 .swizzle = layout.swizzle};
    int wrong = 0;
    int unswizzled = 0;
    for (std::uint32_t mn = 0; mn < 128; ++mn) {
      for (std::uint32_t k = 0; k < 16; ++k) {
        const bool is_k = layout.major == Major::kK;
        const std::uint32_t along = is_k ? k : mn;
        const std::uint32_t address =
            piece_address(matrix, layout.major, is_k ? mn : k, along / t) + along % t * 2;
        const std::uint32_t plain = 4096 + 2 * (place(mn, layout.mn) + place(k, layout.k));
        wrong += address != swizzled(plain, layout.swizzle);
        unswizzled += address != plain;
      }
    }
    CHECK(wrong == 0);
    CHECK((unswizzled > 0) == (layout.swizzle != Swizzle::kNone));
  }
}

TEST_CASE("pieces are where the ISA's examples show") {
  // K-major tf32 without swizzling: ((8,2),(4,4)):((4,32),(1,64)) elements of 4 bytes.
  const SharedMatrix plain = {.leading_bytes = 256, .stride_bytes = 128};
  CHECK(piece_address(plain, Major::kK, 9, 1) == 4 * (4 + 32 + 64));
  // K-major tf32 with 32-byte swizzling: ((8,2),(4,4)):((8,64),(1,4)).
  const SharedMatrix narrow = {
      .leading_bytes = 16, .stride_bytes = 256, .swizzle = Swizzle::k32Bytes};
  CHECK(piece_address(narrow, Major::kK, 9, 1) == swizzled(4 * (8 + 64 + 4), Swizzle::k32Bytes));
  // MN-major bf16 with 64-byte swizzling: ((8,4,2),(8,2)):((1,8,256),(32,512)).
  const SharedMatrix wide = {
      .leading_bytes = 512, .stride_bytes = 1024, .swizzle = Swizzle::k64Bytes};
  CHECK(piece_address(wide, Major::kMn, 9, 5) ==
        swizzled(2 * (8 + 256 + 32 + 512), Swizzle::k64Bytes));
}

TEST_CASE("a start within a swizzled line, as for the next k, keeps the pattern") {
  const SharedMatrix first = {.start = 0, .stride_bytes = 1024, .swizzle = Swizzle::k128Bytes};
  SharedMatrix second = first;
  second.start = 32;
  std::set<std::uint32_t> seen;
  for (std::uint32_t line = 0; line < 16; ++line) {
    for (std::uint32_t piece = 0; piece < 2; ++piece) {
      CHECK(piece_address(second, Major::kK, line, piece) ==
            piece_address(first, Major::kK, line, piece + 2));
      seen.insert(piece_address(first, Major::kK, line, piece));
      seen.insert(piece_address(second, Major::kK, line, piece));
    }
  }
  CHECK(seen.size() == 64);
}

TEST_CASE("descriptors hold 18-bit addresses, offsets and a mode") {
  for (const Swizzle swizzle : kSwizzles) {
    const SharedMatrix matrix = {
        .start = 0x3fff0, .leading_bytes = 0x10, .stride_bytes = 0x400, .swizzle = swizzle};
    CHECK(decoded_matrix(encoded_matrix(matrix)) == matrix);
  }
  CHECK(encoded_matrix({.start = 0x400,
                        .leading_bytes = 16,
                        .stride_bytes = 1024,
                        .swizzle = Swizzle::k128Bytes}) == 0x4000'0040'0001'0040);
  CHECK(decoded_matrix(std::uint64_t{3} << 62)->swizzle == Swizzle::k32Bytes);
  CHECK_FALSE(decoded_matrix(std::uint64_t{1} << 49).has_value());
}

}  // namespace recto::ptx
