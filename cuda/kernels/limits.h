#pragma once

// How large sizes may be that kernels count in int.

#include <cstdint>

namespace recto::kernels {

// Of contexts, in tokens. A thread block goes over its keys in tiles, which may reach beyond the
// last key, and each of its threads has a position there: up to 127 behind the last tile.
inline constexpr std::int64_t kContextLengthMax = (std::int64_t{1} << 31) - 128;

// Of blocks, in slots.
inline constexpr std::int64_t kBlockSizeMax = (std::int64_t{1} << 31) - 1;

// Of rows that are moved, in elements: threads step over 128 at a time.
inline constexpr std::int64_t kMovedSizeMax = (std::int64_t{1} << 31) - 128;

}  // namespace recto::kernels
