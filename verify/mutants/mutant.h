#pragma once

// Which mutant of the copies is awake. Read once, before main(): a constant, so that kernels whose
// accesses to memory are observed may look at it unseen.

namespace recto::verify {

// RECTO_MUTANT of the environment, or 0: none.
extern const int kAwakeMutant;

}  // namespace recto::verify

#define RECTO_MUTANT(number) (::recto::verify::kAwakeMutant == (number))
