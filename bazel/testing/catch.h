#pragma once

// Catch2, version 2 or 3, whichever is installed. Write tests against version 3; this file adds
// what version 2 lacks. A case with the tag [.full] runs under --config=full, or if its file or
// name is requested.

#define CATCH_CONFIG_ENABLE_PAIR_STRINGMAKER
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>

namespace Catch {
using Detail::Approx;

namespace Matchers {
// NOLINTNEXTLINE(readability-identifier-naming): version 3's name
inline StdString::ContainsMatcher ContainsSubstring(const std::string& part) {
  return Contains(part);
}
}  // namespace Matchers
}  // namespace Catch
#endif

#include <cstdlib>
#include <string_view>

namespace recto {

// Whether this is a full run, by --config=full.
inline bool is_full_run() { return std::getenv("RECTO_FULL") != nullptr; }

}  // namespace recto

namespace recto::testing {

// Prints "SKIPPED: <test case>: <reason>", the line that summarise_tests.py counts.
void report_skipped(std::string_view reason);

// The main() of a test.
int run_tests(int argc, char** argv);

}  // namespace recto::testing

// Leaves the enclosing test case (or lambda-free function that returns void).
#define RECTO_SKIP(reason)                    \
  do {                                        \
    ::recto::testing::report_skipped(reason); \
    return;                                   \
  } while (false)
