#pragma once

// Which mutant of plain C++ is awake, and a bound that makes it come to an end. For kernels the
// executor bounds steps; here the bound is on how often places of mutants are passed, whichever is
// awake, so that an endless loop is found by a count, not by the clock.

#include <cstdint>

#include "core/contract.h"
#include "verify/mutants/bounds.h"
#include "verify/mutants/mutant.h"

namespace recto::verify {

// Without a mutant, a test file reaches a fifth of this at most.
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
