#pragma once

// A law on block tables as engines have them: blocks that were allocated out of order, freed and
// reused, or shared. To produce them, simulated engines serve a few hundred requests, once per
// program: with the simulator's allocator, and with the production block manager.

#include "verify/law.h"

namespace recto::verify {

// "engine_tables": shape, options and layout are the case's; tables and contexts are those of an
// engine's step, with either manager, chosen by the placement's seed. Backends that take one row
// per sequence get the decoding part of a step.
Law engine_tables_law();

}  // namespace recto::verify
