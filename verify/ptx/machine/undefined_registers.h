#pragma once

// Registers that may be undefined: a bit for each half of each lane goes along with their values,
// and is reported where it reaches an address, a branch, a store or a product.

#include "verify/ptx/machine/warp.h"

namespace recto::ptx {

// After the step: its results are undefined where its operands are, if it only computes.
void pass_undefined(const Program& program, const WarpStep& at);

// Before it: the lanes in which it uses an undefined register. `at.lanes` come to the step, those
// of them that are `enabled` execute it.
LaneMask undefined_uses(const Program& program, const WarpStep& at, LaneMask enabled);

}  // namespace recto::ptx
