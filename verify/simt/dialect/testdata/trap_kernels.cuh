#pragma once

// A kernel that gives up, for tests.

#include <kernel_dialect.h>

enum class Trap { kNone, kTrap, kFailedAssertion };

// Thread 3 of each block gives up.
__global__ void give_up(Trap trap, int* out);
