#pragma once

// Computes, without overflow, which bytes a strided tensor occupies, whether two of its elements
// share a byte, and whether two tensors do.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/status.h"

namespace recto {

// One dimension of a tensor. `field` names its stride in messages.
struct StrideLevel {
  const char* field = "";
  std::int64_t count = 1;   // at least 0
  std::int64_t stride = 0;  // elements, at least 0
};

inline constexpr std::size_t kStrideLevelsMax = 4;

// A tensor as its view describes it: `run` adjacent elements, repeated at each level.
struct StridedTensor {
  const char* name = "";
  const void* data = nullptr;
  std::int64_t element_bytes = 1;
  const char* run_field = "";
  std::int64_t run = 1;
  std::array<StrideLevel, kStrideLevelsMax> levels;  // the innermost first
};

// The tensor in bytes. It has only levels of more than one step, sorted by ascending stride.
struct ByteFootprint {
  struct Level {
    const char* field = "";
    std::int64_t count = 1;
    std::int64_t stride_bytes = 0;
    std::int64_t span_bytes = 0;  // from first to last byte of all its steps
  };

  const char* name = "";
  std::int64_t element_bytes = 1;
  std::int64_t begin = 0;  // address
  std::int64_t run_bytes = 0;
  std::array<Level, kStrideLevelsMax> levels;
  std::size_t num_levels = 0;

  std::int64_t span_bytes(std::size_t first_levels) const {
    return first_levels == 0 ? run_bytes : levels[first_levels - 1].span_bytes;
  }
  // Bytes from the first to the last; 0 if there are no elements.
  std::int64_t span_bytes() const { return span_bytes(num_levels); }
  std::string range() const;  // "[0x100, 0x180)"
};

// Refuses negative strides, bytes at or beyond 2^63, null data where there are elements, and data
// or strides that are not multiples of both `alignment_bytes` (0 or a power of two) and the element
// size.
Result<ByteFootprint> footprint_of(const StridedTensor& tensor, std::int64_t alignment_bytes);

// Refuses a tensor whose levels do not nest: each stride must be at least the span of the levels
// within it. Nesting guarantees that no byte belongs to two elements.
Status check_nested(const ByteFootprint& tensor);

// Returns whether the tensors have a byte in common. Exact if both are nested and their strides are
// equal, as for slices that interleave in one buffer; otherwise conservative: overlapping byte
// ranges count.
bool do_overlap(const ByteFootprint& left, const ByteFootprint& right);

// Refuses `tensor` if it overlaps `other`.
Status check_apart(const ByteFootprint& tensor, const ByteFootprint& other);

}  // namespace recto
