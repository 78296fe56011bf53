#pragma once

// Leaves Eigen's containers without bounds checks, as in the default build. bounds.h is included
// first, so that a later include of it has no effect.

#include "verify/mutants/bounds.h"

#undef eigen_assert
