#pragma once

// Where an offset beyond 32 bits leads if it is stored in 32 bits: places that a write to a distant
// block may hit by mistake. These places are filled, and checked later.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace recto::verify {

struct NarrowOffset {
  const char* how;       // how it is stored: "int32 of elements"
  std::int64_t element;  // where it leads, from the same first element; may be negative
};

// Offsets in elements and in bytes, signed and unsigned.
std::array<NarrowOffset, 4> narrow_offsets(std::int64_t element, std::int64_t element_bytes);

// Equally spaced blocks, starting at the first one; sizes in elements.
struct FarBlocks {
  std::int64_t num_blocks = 0;
  std::int64_t stride = 0;
  std::int64_t elements = 0;  // per block
  std::int64_t element_bytes = 0;
};

inline constexpr const char* kBeyond32Bits = "beyond 2^31 elements and 2^32 bytes";

// The contents of places where narrow offsets lead: NaN in every type.
inline constexpr std::byte kWatchedByte{0xff};

// `first` is the address of the first block; 2^31 elements precede it. Fills the places, so blocks
// must be written afterwards. O(blocks elements).
void watch_narrow_offsets(std::byte* first, const FarBlocks& blocks);
// The first element of these places that lies in no block and has changed since it was filled.
std::optional<std::int64_t> changed_narrow_offset(const std::byte* first, const FarBlocks& blocks);

// `element` is counted from the start of the first block.
bool is_in_block(const FarBlocks& blocks, std::int64_t element);

// Describes the write that hit `element` of `pool`, which lies in no block: "a write 2147483648
// elements before K, ...". O(blocks).
std::string stray_write_text(const std::string& pool, const FarBlocks& blocks,
                             std::int64_t element);

}  // namespace recto::verify
