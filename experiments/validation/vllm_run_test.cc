#include "experiments/validation/vllm_run.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

void check_all(const std::vector<PublishedFigure>& rows) {
  for (const PublishedFigure& row : rows) {
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

// docs/time_models.md has this table.
TEST_CASE("the roofline's equivalent coefficients, beside the fitted ones") {
  const sim::RooflineTimeModel time = roofline_model();
  const sim::RooflineRates& rates = time.rates();
  const sim::LinearCoefficients fitted = fitted_model().coefficients();
  sim::StepLoad chunk;
  chunk.prefill_sequences = 1;
  chunk.prefill_tokens = TokenCount(2048);
  const double chunk_ns = seconds(time.cost(chunk).total()) * 1e9;
  const std::vector<PublishedFigure> rows{
      {"fixed, with the weights read once (ms)", fitted.fixed_ns / 1e6,
       (rates.fixed_ns + rates.weight_read_ns) / 1e6, Tolerance::kRelative, 0.25},
      {"per prefill token, beyond the ridge (us)", fitted.per_prefill_token_ns / 1e3,
       rates.token_matmul_ns / 1e3, Tolerance::kRelative, 0.25},
      {"a whole chunk of 2048 tokens (ms)",
       (fitted.fixed_ns + 2048 * fitted.per_prefill_token_ns) / 1e6, chunk_ns / 1e6,
       Tolerance::kRelative, 0.25},
      {"per KV token, block 16 (ns)", fitted.per_kv_token_ns,
       rates.kv_token_read_ns + rates.kv_block_ns / 16, Tolerance::kRelative, 0.25}};
  print(std::cout, "coefficients", rows);
  check_all(rows);
}

TEST_CASE("a folder without the run is refused by name") {
  const Result<VllmRun> run = load_vllm_run("/nowhere");
  REQUIRE(!run.is_ok());
  CHECK(run.status().code() == StatusCode::kInvalidInput);
  CHECK(run.status().message().find("/nowhere") != std::string::npos);
}

}  // namespace
}  // namespace recto::experiments
