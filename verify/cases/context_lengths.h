#pragma once

// Context lengths at which kernels change their behaviour: mostly around multiples of the block
// size, of a tile and of a split, and sometimes elsewhere.

#include <cstdint>
#include <vector>

#include "core/random_stream.h"

namespace recto::verify {

struct LengthDomain {
  std::vector<std::int64_t> sizes = {16};  // of blocks, tiles, splits; each at least 1
  std::int64_t max = 96;
};

// 0, 1, max, and m * size - 1, m * size, m * size + 1 for every size and every m, within [0, max];
// sorted, without duplicates.
std::vector<std::int64_t> edge_lengths(const LengthDomain& domain);

// With probability 3/4, an edge of one of the sizes, which are equally likely; else any number in
// [0, max]. So every residue of every size occurs, and -1, 0 and 1 most often.
std::int64_t draw_length(const LengthDomain& domain, RandomStream& stream);

}  // namespace recto::verify
