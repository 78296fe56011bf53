#include "bazel/testing/property.h"

#include <cstdlib>
#include <iostream>
#include <mutex>
#include <sstream>
#include <string>

namespace recto::testing {
namespace {

constexpr const char* kDefaultSeed = "seed=2026";
constexpr const char* kFullCampaign = "max_success=1000";  // rapidcheck's default is 100

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// rapidcheck reads RC_PARAMS once, when the first property runs; what the caller left open is
// filled in before that.
void complete_parameters() {
  std::string parameters = environment("RC_PARAMS");
  const auto add_default = [&parameters](const std::string& setting) {
    const std::string key = setting.substr(0, setting.find('=') + 1);
    if (parameters.find(key) == std::string::npos) parameters += " " + setting;
  };
  add_default(kDefaultSeed);
  if (environment("RECTO_FULL") == "1") add_default(kFullCampaign);
  setenv("RC_PARAMS", parameters.c_str(), /*overwrite=*/1);
}

std::string replay_command(const rc::detail::TestMetadata& property,
                           const rc::detail::FailureResult& failure) {
  rc::detail::Configuration configuration;
  configuration.reproduce.emplace(property.id, failure.reproduce);
  const std::string settings = rc::detail::configToMinimalString(configuration);
  const std::size_t begin = settings.find("reproduce=");
  const std::string reproduce = settings.substr(begin, settings.find(' ', begin) - begin);
  const std::string target = environment("TEST_TARGET");
  return "replay: RC_PARAMS=\"" + reproduce + "\" ./bazelw test " +
         (target.empty() ? "<this test>" : target);
}

}  // namespace

rc::detail::TestMetadata describe_property(const std::string& description) {
  static std::once_flag completed;
  std::call_once(completed, complete_parameters);
  rc::detail::TestMetadata property;
  property.id = Catch::getResultCapture().getCurrentTestName() + "/" + description;
  property.description = description;
  return property;
}

void report_property(const rc::detail::TestMetadata& property,
                     const rc::detail::TestResult& result) {
  std::ostringstream message;
  rc::detail::printResultMessage(result, message);
  if (result.is<rc::detail::SuccessResult>()) {
    // Only a property that classifies its cases has more to say than that it holds.
    if (!result.get<rc::detail::SuccessResult>().distribution.empty()) {
      std::cout << property.id << ": " << message.str() << std::endl;
    }
    SUCCEED();
    return;
  }
  if (result.is<rc::detail::FailureResult>()) {
    // Past Catch2, which would wrap it.
    std::cout << replay_command(property, result.get<rc::detail::FailureResult>()) << std::endl;
  }
  FAIL(message.str());
}

}  // namespace recto::testing
