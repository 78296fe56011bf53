// Which mutant is active; and what is called where a container, a span or a pointer is used out of
// its bounds, or where C++ defines nothing: by the standard library (_GLIBCXX_ASSERTIONS), by
// Eigen, and by the code that -fsanitize inserts. These checks are for plain C++ what the
// executor's checks of memory are for kernels; in kernels they see arrays in registers. By default
// each would end the program by a signal, which a campaign could not distinguish from a crash.

#include "verify/qa/mutant.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "core/contract.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kPassesMax = 1'000'000'000;  // test files reach a fifth without a mutant

// Also right when objects of other files are initialised.
int active_mutant() {
  static const int kNumber = [] {
    const char* const text = std::getenv("RECTO_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return kNumber;
}

// The beginning of what UndefinedBehaviorSanitizer hands over.
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

}  // namespace

const int kActiveMutant = active_mutant();

bool is_active(int number) {
  static std::int64_t passes = 0;
  if (active_mutant() == 0) return false;
  RECTO_CHECK_LT(++passes, kPassesMax);
  return active_mutant() == number;
}

void report_out_of_bounds(const char* file, int line, const char* condition) {
  end_at("out of bounds", {file, static_cast<std::uint32_t>(line), 0}, condition);
}

// The operands that follow `data` are left out.
#define RECTO_UNDEFINED(name, why)                                       \
  extern "C" void __ubsan_handle_##name##_abort(const void* data, ...) { \
    end_at("undefined", *static_cast<const Place*>(data), why);          \
  }

RECTO_UNDEFINED(out_of_bounds, "index beyond an array")
RECTO_UNDEFINED(add_overflow, "+ overflows")
RECTO_UNDEFINED(sub_overflow, "- overflows")
RECTO_UNDEFINED(mul_overflow, "* overflows")
RECTO_UNDEFINED(negate_overflow, "a sign overflows")
RECTO_UNDEFINED(divrem_overflow, "division by 0")
RECTO_UNDEFINED(pointer_overflow, "a pointer leaves what it points into")
RECTO_UNDEFINED(type_mismatch_v1, "a null pointer is used")

}  // namespace recto::verify

namespace std {

[[noreturn]] void __glibcxx_assert_fail(const char* file, int line, const char* /*function*/,
                                        const char* condition) noexcept {
  recto::verify::report_out_of_bounds(file, line, condition);
}

}  // namespace std
