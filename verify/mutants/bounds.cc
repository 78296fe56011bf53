// What is called where a container, a span or a pointer is used out of its bounds, and where C++
// defines nothing: by the standard library when it is built to look (_GLIBCXX_ASSERTIONS), by Eigen
// (bounds.h), and by what -fsanitize puts into code. In plain C++ it is what the executor's checks
// of memory are for kernels; and in kernels it is for arrays in registers. Their own ways end a
// program by a signal, which nobody could tell from a crash.

#include "verify/mutants/bounds.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace recto::verify {
namespace {

// With which all that UndefinedBehaviorSanitizer hands over begins.
struct Place {
  const char* file;
  std::uint32_t line;
  std::uint32_t column;
};

[[noreturn]] void end_at(const char* what, const Place& place, const char* why) {
  std::printf("%s: %s:%u: %s\n", what, place.file, place.line, why);
  std::fflush(stdout);
  std::_Exit(EXIT_FAILURE);
}

[[noreturn]] void leave_defined(const void* data, const char* why) {
  end_at("undefined", *static_cast<const Place*>(data), why);
}

}  // namespace

void leave_bounds(const char* file, int line, const char* condition) {
  end_at("out of bounds", {file, static_cast<std::uint32_t>(line), 0}, condition);
}

}  // namespace recto::verify

namespace std {

[[noreturn]] void __glibcxx_assert_fail(const char* file, int line, const char* /*function*/,
                                        const char* condition) noexcept {
  recto::verify::leave_bounds(file, line, condition);
}

}  // namespace std

namespace recto::verify {

// Operands follow, which the line tells better.
#define RECTO_UNDEFINED(name, why) \
  extern "C" void __ubsan_handle_##name##_abort(const void* data, ...) { leave_defined(data, why); }

RECTO_UNDEFINED(out_of_bounds, "index beyond an array")
RECTO_UNDEFINED(add_overflow, "+ overflows")
RECTO_UNDEFINED(sub_overflow, "- overflows")
RECTO_UNDEFINED(mul_overflow, "* overflows")
RECTO_UNDEFINED(negate_overflow, "a sign overflows")
RECTO_UNDEFINED(divrem_overflow, "division by 0")
RECTO_UNDEFINED(pointer_overflow, "a pointer leaves what it points into")
RECTO_UNDEFINED(type_mismatch_v1, "a null pointer is used")

}  // namespace recto::verify
