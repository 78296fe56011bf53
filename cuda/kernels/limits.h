#pragma once

// Limits of the sizes that kernels count in int.

#include <cstdint>

namespace recto::kernels {

// Contexts, in tokens. A thread block processes its keys in tiles, which may extend past the last
// key; its threads have positions up to 127 past the last tile.
inline constexpr std::int64_t kContextLengthMax = (std::int64_t{1} << 31) - 128;

// Blocks, in slots.
inline constexpr std::int64_t kBlockSizeMax = (std::int64_t{1} << 31) - 1;

// Moved rows, in elements: threads advance by 128 elements at a time.
inline constexpr std::int64_t kMovedSizeMax = (std::int64_t{1} << 31) - 128;

}  // namespace recto::kernels
