#include "sim/time/linear_time_model.h"

#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

LinearCoefficients fitted() { return {17.25e6, 83e3, 171, 8.5e3, "a test"}; }

StepLoad draw_load(Draw& draw) {
  StepLoad load;
  load.decode_sequences = draw.growing(0, 999);
  load.decode_kv_tokens = TokenCount(draw.growing(0, 9'999'999));
  load.prefill_tokens = TokenCount(draw.growing(0, 99'999));
  return load;
}

TEST_CASE("a step by hand, in parts") {
  const LinearTimeModel model(fitted());
  StepLoad load;
  load.prefill_tokens = TokenCount(100);
  load.decode_sequences = 32;
  load.decode_kv_tokens = TokenCount(40'000);
  const StepCost cost = model.cost(load);
  CHECK(cost.fixed == SimDuration(17'250'000));
  CHECK(cost.linear == SimDuration(8'300'000 + 272'000));
  CHECK(cost.attention == SimDuration(6'840'000));
  CHECK(cost.copy == SimDuration(0));
  CHECK(cost.overlap == SimDuration(0));
  CHECK(cost.total() == SimDuration(32'662'000));
}

TEST_CASE("blocks cost what their coefficient says, and nothing without one") {
  StepLoad load;
  load.decode_kv_tokens = TokenCount(1000);
  load.decode_kv_blocks = BlockCount(63);
  LinearCoefficients coefficients = fitted();
  CHECK(LinearTimeModel(coefficients).cost(load).attention == SimDuration(171'000));
  CHECK(LinearTimeModel(coefficients).describe().find("KV block") == std::string::npos);
  coefficients.per_kv_block_ns = 10.5;
  CHECK(LinearTimeModel(coefficients).cost(load).attention == SimDuration(171'000 + 662));  // 661.5
  CHECK(LinearTimeModel(coefficients).describe().find("10.5 ns/KV block") != std::string::npos);
}

TEST_CASE("parts are rounded to the nearest nanosecond, halves up") {
  const LinearTimeModel model({0.4, 0, 0.25, 0, "a test"});
  StepLoad load;
  load.decode_kv_tokens = TokenCount(2);
  CHECK(model.cost(load).attention == SimDuration(1));
  load.decode_kv_tokens = TokenCount(1);
  CHECK(model.cost(load).attention == SimDuration(0));
}

TEST_CASE("an empty or free step still takes 1 ns") {
  CHECK(LinearTimeModel({0, 0, 0, 0, "a test"}).cost({}).total() == SimDuration(1));
  CHECK(LinearTimeModel({0.4, 0, 0, 0, "a test"}).cost({}).total() == SimDuration(1));
}

TEST_CASE("cost grows with each count") {
  property("monotone", [](Draw& draw) {
    const LinearTimeModel model(fitted());
    const StepLoad load = draw_load(draw);
    StepLoad more = load;
    more.decode_sequences += draw.growing(0, 9);
    more.decode_kv_tokens += TokenCount(draw.growing(0, 999));
    more.prefill_tokens += TokenCount(draw.growing(0, 999));
    RECTO_REQUIRE(model.cost(more).total() >= model.cost(load).total());
  });
}

TEST_CASE("coefficients out of range are named") {
  const auto message = [](const LinearCoefficients& coefficients) {
    return check_linear_coefficients(coefficients).message();
  };
  CHECK(message(fitted()).empty());
  LinearCoefficients bad = fitted();
  bad.per_kv_token_ns = -1;
  CHECK(message(bad).find("'per_kv_token_ns': -1; expected 0 to") != std::string::npos);
  bad = fitted();
  bad.fixed_ns = 0.0 / 0.0;
  CHECK(message(bad).find("'fixed_ns'") != std::string::npos);
}

TEST_CASE("a report says what the coefficients were fitted on") {
  CHECK(LinearTimeModel(fitted()).describe().find("(a test)") != std::string::npos);
}

}  // namespace
}  // namespace recto::sim
