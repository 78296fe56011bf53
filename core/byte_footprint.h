#pragma once

// Which bytes a strided tensor occupies, without overflow; whether two of its elements share one,
// and whether two tensors do.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/status.h"

namespace recto {

// One index of a tensor. `field` names the stride in messages.
struct StrideLevel {
  const char* field = "";
  std::int64_t count = 1;   // at least 0
  std::int64_t stride = 0;  // elements, at least 0
};

inline constexpr std::size_t kStrideLevelsMax = 4;

// A tensor as its view describes it: `run` elements side by side, repeated at each level.
struct StridedTensor {
  const char* name = "";
  const void* data = nullptr;
  std::int64_t element_bytes = 1;
  const char* run_field = "";
  std::int64_t run = 1;
  std::array<StrideLevel, kStrideLevelsMax> levels;  // the innermost first
};

// The same in bytes. Levels are those of more than one step, by ascending stride.
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
  // From the first byte to the last; 0 without elements.
  std::int64_t span_bytes() const { return span_bytes(num_levels); }
  std::string range() const;  // "[0x100, 0x180)"
};

// Refuses negative strides, a byte at 2^63 or beyond, null data where there are elements, and data
// or strides that are no multiples of `alignment_bytes` (a power of two) and of the element.
Result<ByteFootprint> footprint_of(const StridedTensor& tensor, std::int64_t alignment_bytes);

// Refuses a tensor whose levels do not nest: each stride must step over all that lies within. Then
// no byte belongs to two elements.
Status check_nested(const ByteFootprint& tensor);

// Whether the tensors have a byte in common. Exact if both are nested and their strides are equal,
// as of slices that interleave in one buffer; otherwise ranges that overlap count.
bool do_overlap(const ByteFootprint& left, const ByteFootprint& right);

// Refuses `tensor` if it overlaps `other`.
Status check_apart(const ByteFootprint& tensor, const ByteFootprint& other);

}  // namespace recto
