#pragma once

// Matrices in shared memory, as wgmma and the tensor memory accelerator (TMA) lay them out: PTX
// ISA, "Asynchronous Warpgroup Level Matrix Shared Memory Layout" and "Tensors: Swizzling Modes".

#include <cstdint>
#include <optional>

namespace recto::ptx {

// Which of the address bits 7 to 9 are added (xor) to bits 4 to 6, so that pieces of 16 bytes
// change places within 32, 64 or 128 bytes.
enum class Swizzle : std::uint8_t { kNone, k32Bytes, k64Bytes, k128Bytes };

// 16 for none.
constexpr std::uint32_t swizzle_bytes(Swizzle swizzle) {
  return std::uint32_t{16} << static_cast<unsigned>(swizzle);
}

// Where the byte is that would be at `address` of shared memory without swizzling.
constexpr std::uint32_t swizzled(std::uint32_t address, Swizzle swizzle) {
  return address ^ (address >> 3 & (swizzle_bytes(swizzle) - 16));
}

// The matrix descriptor of wgmma, in bytes.
struct SharedMatrix {
  std::uint32_t start = 0;
  std::uint32_t leading_bytes = 0;  // LBO
  std::uint32_t stride_bytes = 0;   // SBO
  Swizzle swizzle = Swizzle::kNone;

  bool operator==(const SharedMatrix&) const = default;
};

// Nothing if the base offset is not 0, which is not supported: the swizzling pattern then begins at
// an address that is not a multiple of its length.
std::optional<SharedMatrix> decoded_matrix(std::uint64_t descriptor);
std::uint64_t encoded_matrix(const SharedMatrix& matrix);

// Which index runs along the lines of 16-byte pieces: k, or m of A and n of B.
enum class Major : std::uint8_t { kK, kMn };

// The address of a piece of 16 bytes. With kK, `line` is m or n, and wgmma has two pieces of k;
// with kMn, which only 16-bit elements have, `line` is k, and each piece holds eight m or n.
std::uint32_t piece_address(const SharedMatrix& matrix, Major major, std::uint32_t line,
                            std::uint32_t piece);

}  // namespace recto::ptx
