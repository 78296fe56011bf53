#pragma once

// Context lengths where kernels change their mind: around multiples of the block size, of a tile
// and of a split, and everywhere else now and then.

#include <cstdint>
#include <vector>

#include "core/random_stream.h"

namespace recto::verify {

struct LengthDomain {
  std::vector<std::int64_t> sizes = {16};  // of blocks, tiles, splits; each at least 1
  std::int64_t max = 96;
};

// 0, 1, max, and m * size - 1, m * size, m * size + 1 for every size and every m, as far as they
// lie in [0, max]: sorted, each once.
std::vector<std::int64_t> edge_lengths(const LengthDomain& domain);

// An edge of one of the sizes, each as likely, three times out of four; else anything in [0, max].
// So every residue of every size comes, and those of -1, 0 and 1 most often.
std::int64_t draw_length(const LengthDomain& domain, RandomStream& stream);

}  // namespace recto::verify
