#pragma once

// What each copy of a source includes first: the switch of its mutants, and checks of the bounds of
// Eigen's containers.

namespace recto::verify {

// The number in the environment variable RECTO_MUTANT, or 0 for none. Read once, before main(), so
// that kernels whose memory accesses are observed read a constant.
extern const int kActiveMutant;

// Whether plain C++ has this mutant. Ends a loop that a mutant makes endless by a count, and not by
// the clock: it is a broken contract to call this a billion times. Kernels need no such bound,
// because the executor counts their steps.
bool is_active(int number);

// Prints the condition and its place, and ends the program without a signal.
[[noreturn]] void report_out_of_bounds(const char* file, int line, const char* condition);

}  // namespace recto::verify

#ifdef RECTO_SIMT_KERNEL_FILE
#define RECTO_MUTANT(number) (::recto::verify::kActiveMutant == (number))
#else
#define RECTO_MUTANT(number) (::recto::verify::is_active(number))
#endif

// Eigen calls this in optimised builds, too, if it is defined before Eigen is included.
#ifndef RECTO_UNINSTRUMENTED
#define eigen_assert(condition)       \
  ((condition) ? static_cast<void>(0) \
               : ::recto::verify::report_out_of_bounds(__FILE__, __LINE__, #condition))
#endif
