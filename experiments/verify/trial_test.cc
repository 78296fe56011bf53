#include "experiments/verify/trial.h"

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "experiments/support/tried_command.h"
#include "experiments/verify/verify_command.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

// Ends the program, as programs' own handler does.
void end(const ContractReport& /*report*/) {}

TEST_CASE("what is found in a kernel ends its case, and not the program") {
  set_contract_handler(end);
  REQUIRE(choose_trial(TrialFlags{}).is_ok());
  CHECK_THROWS_AS([] { RECTO_CHECK_EQ(1, 2); }(), ContractFailure);
}

TEST_CASE("names that are not set choose nothing, and not everything") {
  for (const std::string flag : {"--backend", "--law"}) {
    const auto tried = testing::try_command(add_verify_command, {"verify", flag, "", "--list"});
    CHECK(tried.exit_code == 2);
    CHECK_THAT(tried.err, ContainsSubstring(flag + ": found ''; expected names of recto verify"));
  }
}

TEST_CASE("types and layouts that were tried are told with the sizes") {
  const auto tried = testing::try_command(
      add_verify_command, {"verify", "--backend", "naive-fp64", "--law", "oracle", "--cases", "4"});
  CHECK_THAT(tried.out, ContainsSubstring("; types of q / of the cache\n") &&
                            ContainsSubstring("\n      types ") && ContainsSubstring(", layouts "));
}

TEST_CASE("how long a library's call may take is told") {
  const auto tried = testing::try_command(add_verify_command, {"verify", "--help"});
  CHECK_THAT(tried.out, ContainsSubstring("A call of a library that is not back after 10 s, or "
                                          "120 s where it is made of sources, fails"));
}

}  // namespace
}  // namespace recto::experiments
