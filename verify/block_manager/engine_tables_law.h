#pragma once

// A law on block tables as engines have them: with blocks that were allocated out of order, freed
// and reused, or shared. Simulated engines produce the tables: once per program, they serve a few
// hundred requests with the simulator's allocator and with the production block manager.

#include "verify/law.h"

namespace recto::verify {

// "engine_tables": shape, options and layout come from the case. Tables and contexts are those of
// one step of an engine, with either manager; the placement's seed chooses the step. Backends that
// take one row per sequence get the decoding part of a step.
Law engine_tables_law();

}  // namespace recto::verify
