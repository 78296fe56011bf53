#include <array>
#include <string>

#include "bazel/testing/catch.h"
#include "verify/simt/dialect/trap_kernels.cuh"

namespace recto::simt {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string text_of(Trap trap) {
  std::array<int, 32> out = {};
  Executor executor({});
  return launch(executor, {.kernel = "give_up", .grid = {1}, .block = {32}}, give_up, trap,
                out.data())
      .text();
}

}  // namespace

TEST_CASE("a kernel that does not give up is silent") { CHECK(text_of(Trap::kNone).empty()); }

TEST_CASE("__trap is a finding at its line") {
  CHECK_THAT(text_of(Trap::kTrap), ContainsSubstring("assertion in kernel 'give_up'") &&
                                       ContainsSubstring("trap_kernels.cu:4") &&
                                       ContainsSubstring("thread 3") &&
                                       ContainsSubstring("calls __trap"));
}

TEST_CASE("a failed assertion is a finding with its condition") {
  CHECK_THAT(text_of(Trap::kFailedAssertion),
             ContainsSubstring("trap_kernels.cu:7") && ContainsSubstring("thread 3") &&
                 ContainsSubstring("fails assert(trap == Trap::kNone)"));
}

}  // namespace recto::simt
