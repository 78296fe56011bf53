#pragma once

// Which mutant of the copies is awake. It is read once, before main(), and is a constant, so that
// kernels whose memory accesses are observed can read it unobserved.

namespace recto::verify {

// The environment variable RECTO_MUTANT, or 0 for none.
extern const int kAwakeMutant;

}  // namespace recto::verify

#define RECTO_MUTANT(number) (::recto::verify::kAwakeMutant == (number))
