#include "core/number_in.h"

#include <cstdint>

#include "bazel/testing/catch.h"

namespace recto {
namespace {

TEST_CASE("an unsigned number is read only if the whole text is digits in its range") {
  CHECK(number_in<std::uint64_t>("0") == 0);
  CHECK(number_in<std::uint64_t>("0017") == 17);
  CHECK(number_in<std::uint64_t>("18446744073709551615") == 18446744073709551615U);
  for (const char* text : {"", "abc", "-1", "+1", " 1", "1 ", "1x", "1.0", "18446744073709551616"})
    CHECK_FALSE(number_in<std::uint64_t>(text));
}

TEST_CASE("signed numbers have a minus, and fractions a point, whatever the locale") {
  CHECK(number_in<std::int64_t>("-17") == -17);
  CHECK_FALSE(number_in<std::int64_t>("1.5"));
  CHECK(number_in<double>("1.5") == 1.5);
  CHECK_FALSE(number_in<double>("1,5"));
}

}  // namespace
}  // namespace recto
