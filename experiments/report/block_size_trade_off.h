#pragma once

// What one block size would give and take instead of another, in words.

#include <string>

#include "experiments/report/block_size_criteria.h"

namespace recto::experiments {

// "Block 32 instead: held empty 1.6 points up, block tables x 0.5, ...". What seeds do not tell
// apart is called so. `from` serves requests.
std::string trade_off(const BlockSizeFigures& from, const BlockSizeFigures& to);

}  // namespace recto::experiments
