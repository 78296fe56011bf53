#include "experiments/support/time_model.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

// A folder of results of the test's own, named to the program.
std::filesystem::path make_results(const char* name) {
  const auto folder = std::filesystem::path(std::getenv("TEST_TMPDIR")) / name;
  std::filesystem::create_directories(folder);
  setenv("RECTO_GPU_RESULTS", folder.c_str(), 1);
  return folder;
}

void add_card(const std::filesystem::path& results, const char* card) {
  std::filesystem::create_directories(results / card);
  std::ofstream(results / card / "attention.json") << "{}";
}

TEST_CASE("roofline reads no file, linear the one that is named") {
  CHECK(choose_time_model("roofline").value().kind == TimeModelKind::kRoofline);
  CHECK(choose_time_model("linear:a/b.json").value().kind == TimeModelKind::kLinear);
  CHECK(choose_time_model("linear:a/b.json").value().file == "a/b.json");
}

TEST_CASE("measured:GPU names a card with results, and others are refused with the list") {
  const auto results = make_results("some");
  add_card(results, "H200");
  add_card(results, "H100");
  std::filesystem::create_directories(results / "empty");
  const auto choice = choose_time_model("measured:H200");
  REQUIRE(choice.is_ok());
  CHECK(choice.value().kind == TimeModelKind::kMeasured);
  CHECK(choice.value().file == results / "H200" / "attention.json");
  for (const char* wrong : {"measured:H300", "measured:empty", "measured:../some/H200",
                            "measured:.", "measured:H200/"}) {
    const std::string message = choose_time_model(wrong).status().message();
    INFO(wrong);
    CHECK(has(message, std::string("--time-model ") + wrong + ": no such results"));
    CHECK(has(message, "expected one of H100, H200"));
  }
}

TEST_CASE("an absolute path names a folder of results, wherever others are") {
  const auto results = std::filesystem::absolute(make_results("elsewhere"));
  add_card(results, "H200");
  setenv("RECTO_GPU_RESULTS", "/nowhere", 1);
  const auto choice = choose_time_model("measured:" + (results / "H200").string());
  REQUIRE(choice.is_ok());
  CHECK(choice.value().file == results / "H200" / "attention.json");
  const std::string gone = "measured:" + (results / "H100").string();
  CHECK(choose_time_model(gone).status().message() ==
        "--time-model " + gone + ": no attention.json is there; expected a folder of results");
}

TEST_CASE("a measured time model without any results is refused with that reason") {
  make_results("none");
  CHECK(has(choose_time_model("measured:H200").status().message(), "no results yet: "));
  setenv("RECTO_GPU_RESULTS", "/nowhere", 1);
  CHECK(has(choose_time_model("measured:H200").status().message(), "no results yet: /nowhere has"));
  unsetenv("RECTO_GPU_RESULTS");
  CHECK(has(choose_time_model("measured:H200").status().message(), "experiments/results has no"));
}

TEST_CASE("any other time model is refused with the expected forms") {
  for (const char* wrong : {"", "linear", "linear:", "measured", "measured:", "Roofline"}) {
    CHECK(has(choose_time_model(wrong).status().message(),
              "expected roofline or linear:FILE, or measured:GPU"));
  }
}

}  // namespace
}  // namespace recto::experiments
