// The implementation of Catch2, and recto's additions.

#define CATCH_CONFIG_RUNNER
#include "bazel/testing/catch.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/contract.h"

namespace recto::testing {

void report_skipped(std::string_view reason) {
  std::cout << "SKIPPED: " << Catch::getResultCapture().getCurrentTestName() << ": " << reason
            << std::endl;
}

namespace {

#if __has_include(<catch2/catch_all.hpp>)
using Catch::EventListenerBase;
#else
using EventListenerBase = Catch::TestEventListenerBase;
#endif

// Gives each case an environment as if its file were a separate program: printed replay commands
// name the file of the running case, and cases of different files may write files of the same name.
class CaseEnvironment : public EventListenerBase {
 public:
  using EventListenerBase::EventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& test_case) override {
    const std::string file = std::filesystem::path(test_case.lineInfo.file).stem();
    if (const char* target = std::getenv("TEST_TARGET")) {
      const std::string_view told(target);
      const std::string name(told.substr(0, told.find(' ')));
      setenv("TEST_TARGET", (name + " --test_filter='[#" + file + "]'").c_str(), /*overwrite=*/1);
    }
    if (!root_.empty()) {
      std::filesystem::create_directories(root_ / file);
      setenv("TEST_TMPDIR", (root_ / file).c_str(), /*overwrite=*/1);
    }
  }

 private:
  static std::filesystem::path temporary_folder() {
    const char* folder = std::getenv("TEST_TMPDIR");
    return folder == nullptr ? std::filesystem::path() : std::filesystem::path(folder);
  }

  std::filesystem::path root_ = temporary_folder();
};

CATCH_REGISTER_LISTENER(CaseEnvironment)

// Prints the number of cases that run only with --config=full or by their name.
void report_left_out(Catch::Session& session) {
  const auto& cases = Catch::getAllTestCasesSorted(session.config());
  const auto left_out = std::ranges::count_if(cases, [](const auto& test_case) {
    const std::string tags = test_case.getTestCaseInfo().tagsAsString();
    return tags.find("[full]") != std::string::npos;
  });
  if (left_out > 0)
    std::cout << "SKIPPED: " << left_out << " test cases [.full]: --config=full runs them"
              << std::endl;
}

// Without this check, a filter without a case because of a typing error would pass.
bool has_a_case(Catch::Session& session) {
  const auto& config = session.config();
  return !Catch::filterTests(Catch::getAllTestCasesSorted(config), config.testSpec(), config)
              .empty();
}

// Bazel's environment has the number of shards and the index of this one. Each case is in one.
int shard_number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

// Tells Bazel that the program supports sharding.
void confirm_sharding() {
  if (const char* file = std::getenv("TEST_SHARD_STATUS_FILE")) std::ofstream(file).flush();
}

#if __has_include(<catch2/catch_all.hpp>)
int run_shard(Catch::Session& session, int index, int count) {
  Catch::ConfigData data = session.configData();
  data.shardIndex = static_cast<unsigned>(index);
  data.shardCount = static_cast<unsigned>(count);
  data.allowZeroTests = true;
  session.useConfigData(data);
  return session.run();
}
#else
int run_shard(Catch::Session& session, int index, int count) {
  // As version 2 itself does; names as filters would need escapes that it lacks.
  auto& cases =
      const_cast<std::vector<Catch::TestCase>&>(Catch::getAllTestCasesSorted(session.config()));
  int position = 0;
  std::erase_if(cases, [&](const Catch::TestCase&) { return position++ % count != index; });
  return cases.empty() ? 0 : session.run();
}
#endif

}  // namespace

int run_tests(int argc, char** argv) {
  install_throwing_contract_handler();
  std::vector<char*> arguments(argv, argv + argc);
  // `bazel test --test_filter=SPEC` arrives here.
  char everything[] = "*";  // also what is tagged [.full]
  char* const filter = std::getenv("TESTBRIDGE_TEST_ONLY");
  if (filter != nullptr) {
    arguments.push_back(filter);
  } else if (is_full_run()) {
    arguments.push_back(everything);
  }
  Catch::Session session;
  session.configData().rngSeed = 2026;  // version 3 would take the clock
  session.configData().filenamesAsTags = true;
  const int status = session.applyCommandLine(static_cast<int>(arguments.size()), arguments.data());
  if (status != 0) return status;
  if (filter != nullptr && !has_a_case(session)) {
    std::cerr << "--test_filter='" << filter << "': no test case of this program matches\n";
    return 2;
  }
  confirm_sharding();
  const int shard = shard_number("TEST_SHARD_INDEX", 0);
  const int shards = shard_number("TEST_TOTAL_SHARDS", 1);
  if (arguments.size() == 1 && shard == 0) report_left_out(session);
  return shards > 1 ? run_shard(session, shard, shards) : session.run();
}

}  // namespace recto::testing
