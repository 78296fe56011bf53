#pragma once

// Where Eigen's containers are used out of their bounds, or shapes do not fit, the program ends and
// says so, in optimised builds, too. Copies of plain C++ include it before Eigen.

namespace recto::verify {

// Prints what it was, and ends the program without a signal.
[[noreturn]] void leave_bounds(const char* file, int line, const char* condition);

}  // namespace recto::verify

#define eigen_assert(condition)       \
  ((condition) ? static_cast<void>(0) \
               : ::recto::verify::leave_bounds(__FILE__, __LINE__, #condition))
