#include "experiments/validation/vllm_run.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "bazel/testing/catch.h"
#include "experiments/validation/vllm_models.h"

namespace recto::experiments {
namespace {

void check_all(const std::vector<Comparison>& rows) {
  for (const Comparison& row : rows) {
    CAPTURE(row.quantity, row.expected, row.measured, row.tolerance);
    CHECK(row.holds());
  }
}

TEST_CASE("a real engine's run is reproduced") {
  const char* folder = std::getenv("RECTO_TRACES");
  if (folder == nullptr || !std::filesystem::exists(folder)) {
    std::cout << "SKIPPED: replay of the vLLM run: RECTO_TRACES names no folder\n";
    return;
  }
  const Result<VllmRun> run = load_vllm_run(folder);
  REQUIRE(run.status() == Status::ok());
  REQUIRE(run.value().requests.size() == 300);
  REQUIRE(run.value().seconds.size() == 184);

  SECTION("by a linear time model of four coefficients that was fitted to it") {
    check_all(compare_vllm(run.value(), replay(run.value(), fitted_model()), ModelKind::kFitted));
  }
  SECTION("by the roofline time model, to 20 %") {
    check_all(
        compare_vllm(run.value(), replay(run.value(), roofline_model()), ModelKind::kRoofline));
  }
}

TEST_CASE("a folder without the run is bad input, named") {
  const Result<VllmRun> run = load_vllm_run("/nowhere");
  REQUIRE(!run.is_ok());
  CHECK(run.status().code() == StatusCode::kInvalidInput);
  CHECK(run.status().message().find("/nowhere") != std::string::npos);
}

}  // namespace
}  // namespace recto::experiments
