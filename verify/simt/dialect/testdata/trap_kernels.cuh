#pragma once

// A kernel for tests of those that give up.

#include <kernel_dialect.h>

enum class Trap { kNone, kTrap, kFailedAssertion };

// Thread 3 of each block gives up.
__global__ void give_up(Trap trap, int* out);
