#pragma once

// Where offsets lead that are beyond 32 bits, and were kept in 32: wherever a write of a block that
// lies far from the first one may go wrong. These places are filled, and looked at.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace recto::verify {

struct NarrowOffset {
  const char* how;       // what is kept: "int32 of elements"
  std::int64_t element;  // where it leads, from the same first one; negative: before it
};

// Of elements and of bytes, signed and unsigned.
std::array<NarrowOffset, 4> narrow_offsets(std::int64_t element, std::int64_t element_bytes);

// Blocks at equal distances, from the first one on; in elements.
struct FarBlocks {
  std::int64_t num_blocks = 0;
  std::int64_t stride = 0;
  std::int64_t elements = 0;  // of one block
  std::int64_t element_bytes = 0;
};

inline constexpr const char* kBeyond32Bits = "beyond 2^31 elements and 2^32 bytes";

// What stands where narrow offsets lead: NaN, in every type.
inline constexpr std::byte kWatchedByte{0xff};

// `first` is the first block's; 2^31 elements lie before it. Fills the places; blocks are to be
// written afterwards. O(blocks elements).
void watch_narrow_offsets(std::byte* first, const FarBlocks& blocks);
// The first element of these places that is of no block, and no longer as it was filled.
std::optional<std::int64_t> changed_narrow_offset(const std::byte* first, const FarBlocks& blocks);

// Counted from the first block on.
bool is_in_block(const FarBlocks& blocks, std::int64_t element);

// What wrote `element` of `pool`, which is of no block: "a write 2147483648 elements before K,
// ...". O(blocks).
std::string stray_write_text(const std::string& pool, const FarBlocks& blocks,
                             std::int64_t element);

}  // namespace recto::verify
