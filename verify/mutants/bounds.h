#pragma once

// Makes Eigen end the program with a message if a container is used out of bounds or shapes do not
// fit, in optimised builds, too. Copies of plain C++ include this header before Eigen.

namespace recto::verify {

// Prints the condition and its place, and ends the program without a signal.
[[noreturn]] void leave_bounds(const char* file, int line, const char* condition);

}  // namespace recto::verify

#define eigen_assert(condition)       \
  ((condition) ? static_cast<void>(0) \
               : ::recto::verify::leave_bounds(__FILE__, __LINE__, #condition))
