#include "verify/ptx/arithmetic/shared_matrix.h"

namespace recto::ptx {
namespace {

// The codes of the descriptor's swizzling modes run the other way.
constexpr Swizzle kModes[] = {Swizzle::kNone, Swizzle::k128Bytes, Swizzle::k64Bytes,
                              Swizzle::k32Bytes};

// 18-bit addresses and offsets, without their four lowest bits.
constexpr std::uint64_t encoded(std::uint32_t bytes) { return (bytes & 0x3ffff) >> 4; }
constexpr std::uint32_t decoded(std::uint64_t field) {
  return static_cast<std::uint32_t>(field & 0x3fff) << 4;
}

}  // namespace

std::optional<SharedMatrix> decoded_matrix(std::uint64_t descriptor) {
  if ((descriptor >> 49 & 7) != 0) return std::nullopt;
  return SharedMatrix{.start = decoded(descriptor),
                      .leading_bytes = decoded(descriptor >> 16),
                      .stride_bytes = decoded(descriptor >> 32),
                      .swizzle = kModes[descriptor >> 62]};
}

std::uint64_t encoded_matrix(const SharedMatrix& matrix) {
  std::uint64_t mode = 0;
  while (kModes[mode] != matrix.swizzle) ++mode;
  return encoded(matrix.start) | encoded(matrix.leading_bytes) << 16 |
         encoded(matrix.stride_bytes) << 32 | mode << 62;
}

// ISA, "Canonical Layouts", in pieces of T elements: without swizzling, eight pieces follow one
// another; with it, eight lines of the swizzle's length do.
std::uint32_t piece_address(const SharedMatrix& matrix, Major major, std::uint32_t line,
                            std::uint32_t piece) {
  const std::uint32_t width = swizzle_bytes(matrix.swizzle);
  const bool is_plain = matrix.swizzle == Swizzle::kNone;
  std::uint32_t offset = line % 8 * width;
  if (major == Major::kK) {
    offset += line / 8 * matrix.stride_bytes + piece * (is_plain ? matrix.leading_bytes : 16);
  } else if (is_plain) {
    offset += line / 8 * matrix.leading_bytes + piece * matrix.stride_bytes;
  } else {
    const std::uint32_t pieces = width / 16;
    offset += line / 8 * matrix.stride_bytes + piece / pieces * matrix.leading_bytes +
              piece % pieces * 16;
  }
  return swizzled(matrix.start + offset, matrix.swizzle);
}

}  // namespace recto::ptx
