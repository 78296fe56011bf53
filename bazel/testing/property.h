#pragma once

// rapidcheck properties as sections of a Catch2 test case:
//
//   TEST_CASE("reversal") {
//     rc::prop("twice gives the same", [](const std::vector<int>& v) { RC_ASSERT(...); });
//   }
//
// The seed is fixed unless RC_PARAMS names one; RECTO_FULL=1 runs ten times the cases. A failure
// prints the shrunk counterexample and the command that replays it.

#include <rapidcheck.h>

#include <string>
#include <utility>

#include "bazel/testing/catch.h"

namespace recto::testing {

// Names a property of the running test case, uniquely in its program. Must be called before
// anything in rapidcheck that reads its configuration, since it sets the defaults.
rc::detail::TestMetadata describe_property(const std::string& description);

// Turns what rapidcheck found into a passed or failed Catch2 assertion.
void report_property(const rc::detail::TestMetadata& property,
                     const rc::detail::TestResult& result);

}  // namespace recto::testing

namespace rc {

template <typename Testable>
void prop(const std::string& description, Testable&& testable) {
  SECTION(description) {
    const detail::TestMetadata property = recto::testing::describe_property(description);
    recto::testing::report_property(
        property, detail::checkTestable(std::forward<Testable>(testable), property));
  }
}

}  // namespace rc
