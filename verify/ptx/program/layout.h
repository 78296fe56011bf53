#pragma once

// Gives values their places in a warp's registers, by the time in which they are needed, so that a
// warp's registers fit into a core's first cache.

#include "verify/ptx/program/draft.h"

namespace recto::ptx {

struct LayoutOptions {
  // Marks the steps that values may reach which no path has written before.
  bool tracks_undefined = false;
};

// A program that is ready to run. O(steps + values), beside the analyses.
Program layout(Draft draft, const LayoutOptions& options);

}  // namespace recto::ptx
