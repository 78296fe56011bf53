#pragma once

// Eigen's containers look at no bounds, as in the default build: bounds.h does not come again.

#include "verify/mutants/bounds.h"

#undef eigen_assert
