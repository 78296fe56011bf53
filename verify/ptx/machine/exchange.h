#pragma once

// Instructions in which lanes of a warp exchange values, once all that take part have arrived.

#include <optional>

#include "verify/ptx/machine/warp.h"

namespace recto::ptx {

// A lane that takes the value of one that takes no part.
struct MissingSource {
  unsigned lane = 0;
  unsigned source = 0;
};

std::optional<MissingSource> shuffle(const WarpStep& at, const Detail& detail);
void vote(const WarpStep& at, const Detail& detail);
void match(const WarpStep& at, const Detail& detail);
void reduce(const WarpStep& at, const Detail& detail);
void elect(const WarpStep& at, const Detail& detail);  // the lowest lane

}  // namespace recto::ptx
