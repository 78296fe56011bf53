// The main() of every Catch2 test.

#define CATCH_CONFIG_RUNNER
#include "bazel/testing/catch.h"

#include <cstdlib>
#include <iostream>
#include <vector>

#include "core/contract.h"

namespace recto::testing {

void report_skipped(std::string_view reason) {
  std::cout << "SKIPPED: " << Catch::getResultCapture().getCurrentTestName() << ": " << reason
            << std::endl;
}

}  // namespace recto::testing

int main(int argc, char** argv) {
  recto::install_throwing_contract_handler();
  std::vector<char*> arguments(argv, argv + argc);
  // `bazel test --test_filter=SPEC` arrives here.
  if (char* filter = std::getenv("TESTBRIDGE_TEST_ONLY")) arguments.push_back(filter);
  Catch::Session session;
  session.configData().rngSeed = 2026;  // version 3 would take the clock
  return session.run(static_cast<int>(arguments.size()), arguments.data());
}
