#pragma once

// Which mutant of plain C++ is awake; and that it comes to an end. Kernels have a bound on steps by
// the executor; here it is that on how often places of mutants are passed, whichever is awake, so
// that a loop without end is found by a count, and not by the clock.

#include <cstdint>

#include "core/contract.h"
#include "verify/mutants/bounds.h"
#include "verify/mutants/mutant.h"

namespace recto::verify {

// A file of tests without a mutant passes a fifth of it, at most.
inline constexpr std::int64_t kPassesMax = 1'000'000'000;

inline bool is_awake(int number) {
  static std::int64_t passes = 0;
  if (kAwakeMutant == 0) return false;
  RECTO_CHECK_LT(++passes, kPassesMax);
  return kAwakeMutant == number;
}

}  // namespace recto::verify

#undef RECTO_MUTANT
#define RECTO_MUTANT(number) (::recto::verify::is_awake(number))
