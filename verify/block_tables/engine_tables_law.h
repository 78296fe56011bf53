#pragma once

// Block tables as engines have them, in the shape of a law: blocks that came out of order, were
// given back and taken again, or are shared. Simulated engines serve a few hundred requests for
// them, once in a program: on the simulator's allocator, and on the production block manager.

#include "verify/law.h"

namespace recto::verify {

// "engine_tables": shape, options and layout are the case's, tables and contexts those of a step of
// an engine with either manager, chosen by the placement's seed. Backends that take one row a
// sequence get the part of a step that decodes.
Law engine_tables_law();

}  // namespace recto::verify
