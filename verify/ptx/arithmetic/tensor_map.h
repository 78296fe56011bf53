#pragma once

// Tensor maps (TMA descriptors) in tiled mode: PTX ISA, "Tensors", and the CUDA driver API,
// cuTensorMapEncodeTiled. Interleaved layouts, im2col, sub-byte elements, elements that the copy
// converts (.tf32, .ftz) and swizzling in atoms of more than 16 bytes are not supported.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/status.h"
#include "verify/ptx/arithmetic/shared_matrix.h"

namespace recto::ptx {

inline constexpr int kTensorRankMax = 5;
inline constexpr std::uint32_t kTensorBoxMax = 256;  // elements in a dimension
// Boxes begin at multiples of this in shared memory.
inline constexpr std::uint32_t kTensorBoxAlignment = 128;

enum class TensorElement : std::uint8_t {
  kU8,
  kU16,
  kU32,
  kS32,
  kU64,
  kS64,
  kF16,
  kF32,
  kF64,
  kBf16,
};

// What elements out of bounds become in shared memory.
enum class TensorFill : std::uint8_t { kZero, kNan };

// Dimensions are given innermost first.
struct TensorMap {
  TensorElement element = TensorElement::kF16;
  TensorFill fill = TensorFill::kZero;
  Swizzle swizzle = Swizzle::kNone;
  int rank = 1;
  std::uint64_t global_address = 0;
  std::array<std::uint64_t, kTensorRankMax> sizes = {};    // elements
  std::array<std::uint64_t, kTensorRankMax> strides = {};  // bytes; the innermost has none
  std::array<std::uint32_t, kTensorRankMax> box = {};      // elements
  // Elements from one to the next that is read; ignored in the innermost dimension.
  std::array<std::uint32_t, kTensorRankMax> steps = {1, 1, 1, 1, 1};

  bool operator==(const TensorMap&) const = default;
};

std::uint32_t element_bytes(TensorElement element);

// What the driver would refuse; the message names the argument and what was expected.
Status checked(const TensorMap& map);

// A CUtensorMap, as kernels take it in a __grid_constant__ parameter. The format is our own:
// NVIDIA's is not documented.
struct alignas(64) TensorMapBytes {
  std::array<std::byte, 128> bytes = {};

  bool operator==(const TensorMapBytes&) const = default;
};
// As the driver's cuTensorMapEncodeTiled: an error for what `checked` refuses.
Result<TensorMapBytes> encode_tiled(const TensorMap& map);
// An error if the bytes are not those of an encoded map.
Result<TensorMap> decoded_tensor_map(const TensorMapBytes& bytes);

// The bytes that a box takes in shared memory, which a copy reports to its mbarrier.
std::uint32_t box_bytes(const TensorMap& map);

// A line of the innermost dimension of a box.
struct BoxLine {
  std::uint32_t shared_offset = 0;   // from the box's start, before swizzling
  std::uint64_t global_address = 0;  // of byte 0, which may be out of bounds
  // The bytes that lie in the tensor. The others are filled, or not written to it.
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  bool operator==(const BoxLine&) const = default;
};

// The lines of the box at these coordinates, in the order of shared memory. Byte i of a line is at
// swizzled(start + shared_offset + i, map.swizzle). O(lines).
std::vector<BoxLine> box_lines(const TensorMap& map,
                               const std::array<std::int32_t, kTensorRankMax>& coordinates);

// The bit pattern of an element out of bounds. The ISA calls its NaN special, without saying which
// it is: here, it is the canonical one.
std::uint64_t fill_pattern(const TensorMap& map);

}  // namespace recto::ptx
