#pragma once

// Steps that may touch registers of asynchronous products: after the product, before it is waited
// for, or before it, with no fence in between.

#include <vector>

#include "verify/ptx/program/control_flow.h"
#include "verify/ptx/program/draft.h"

namespace recto::ptx {

// Sorted. On some path; whether that is taken shows when the kernel runs. O(products x steps).
std::vector<RegisterTouch> register_touches_of(Draft& draft, const ControlFlow& flow);

}  // namespace recto::ptx
