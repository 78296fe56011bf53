#pragma once

// Which mutant of plain C++ is awake; and that it comes to an end. Kernels have a bound on steps by
// the executor; here it is that on how often the place of the mutant is passed, so that a loop
// without end is found by a count, and not by the clock.

#include <cstdint>

#include "core/contract.h"
#include "verify/mutants/mutant.h"

namespace recto::verify {

// A run without a mutant passes the busiest place of all a hundredth of it.
inline constexpr std::int64_t kPassesMax = 200'000'000;

inline bool is_awake(int number) {
  static std::int64_t passes = 0;
  if (kAwakeMutant != number) return false;
  RECTO_CHECK_LT(++passes, kPassesMax);
  return true;
}

}  // namespace recto::verify

#undef RECTO_MUTANT
#define RECTO_MUTANT(number) (::recto::verify::is_awake(number))
