#include "sim/time/step_options.h"

#include <algorithm>
#include <utility>

#include "bazel/testing/property.h"
#include "sim/time/linear_time_model.h"

namespace recto::sim {
namespace {

// 1 us fixed, 10 ns per prefill token, 2 ns per KV token, 100 ns per sequence.
std::unique_ptr<TimeModel> inner() {
  return std::make_unique<LinearTimeModel>(LinearCoefficients{1000, 10, 2, 100, "a test"});
}

std::unique_ptr<TimeModel> wrapped(StepOptions options) {
  return with_step_options(inner(), std::move(options)).value();
}

StepLoad mixed(std::int64_t sequences, std::int64_t kv_tokens, std::int64_t prefill_tokens) {
  StepLoad load;
  load.decode_sequences = sequences;
  load.decode_kv_tokens = TokenCount(kv_tokens);
  load.prefill_sequences = prefill_tokens > 0 ? 1 : 0;
  load.prefill_tokens = TokenCount(prefill_tokens);
  return load;
}

TEST_CASE("graph batch sizes are those that engines capture") {
  const auto vllm = vllm_graph_batch_sizes();
  CHECK(vllm.size() == 67);
  CHECK(std::vector(vllm.begin(), vllm.begin() + 6) ==
        std::vector<std::int64_t>{1, 2, 4, 8, 16, 24});
  CHECK(vllm.back() == 512);
  CHECK(power_of_two_graph_batch_sizes() ==
        std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 512});
}

TEST_CASE("a batch is padded to the next captured size, and not beyond the last one") {
  const auto sizes = vllm_graph_batch_sizes();
  const std::pair<int, int> cases[] = {{0, 0},   {1, 1},     {2, 2},     {3, 4},
                                       {4, 4},   {5, 8},     {8, 8},     {9, 16},
                                       {17, 24}, {511, 512}, {512, 512}, {513, 513}};
  for (const auto& [batch, padded] : cases) CHECK(padded_batch(sizes, batch) == padded);
  CHECK(padded_batch({}, 7) == 7);
}

TEST_CASE("padding adds cost to the linear part alone") {
  const auto model = wrapped({vllm_graph_batch_sizes(), std::nullopt});
  const StepCost cost = model->cost(mixed(9, 1000, 0));
  CHECK(cost.linear == SimDuration(16 * 100));
  CHECK(cost.attention == SimDuration(2000));
  CHECK(cost.fixed == SimDuration(1000));
}

TEST_CASE("an overlapped step takes l + (f - 1) s") {
  const auto model = wrapped({{}, 1.25});
  // decode 5 x 100 + 500 x 2 = 1500 ns, prefill 400 x 10 = 4000 ns
  const StepCost cost = model->cost(mixed(5, 500, 400));
  CHECK(cost.linear == SimDuration(4500));
  CHECK(cost.attention == SimDuration(1000));
  CHECK(cost.overlap == SimDuration(-1500 + 375));
  CHECK(cost.total() == SimDuration(1000 + 4000 + 375));
}

TEST_CASE("a step of one kind has nothing to overlap") {
  const auto model = wrapped({{}, 1.0});
  for (const StepLoad& load : {mixed(5, 500, 0), mixed(0, 0, 400), mixed(0, 0, 0)}) {
    const StepCost plain = inner()->cost(load);
    CHECK(model->cost(load).overlap == SimDuration(0));
    CHECK(model->cost(load).total() == plain.total());
  }
}

TEST_CASE("an overlapped step lies between its longer side and serial execution") {
  property("for any load and interference", [](Draw& draw) {
    const double interference = 1 + draw.growing<int>(0, 1000) / 1000.0;
    const auto model = wrapped({{}, interference});
    const auto serial = wrapped({{}, 2.0});
    const auto ideal = wrapped({{}, 1.0});
    const StepLoad load =
        mixed(draw.growing(1, 499), draw.growing(0, 999'999), draw.growing(1, 99'999));
    const StepCost cost = model->cost(load);
    const SimDuration decode =
        SimDuration(load.decode_sequences * 100) + SimDuration(load.decode_kv_tokens.value() * 2);
    const SimDuration prefill(load.prefill_tokens.value() * 10);
    RECTO_REQUIRE(cost.overlap <= SimDuration(0));
    RECTO_REQUIRE(cost.total() >= std::max(decode, prefill) + cost.fixed);
    RECTO_REQUIRE(cost.total() <= decode + prefill + cost.fixed);
    RECTO_REQUIRE(cost.total() >= ideal->cost(load).total());
    RECTO_REQUIRE(cost.total() <= serial->cost(load).total());
    RECTO_REQUIRE(serial->cost(load).overlap == SimDuration(0));
  });
}

TEST_CASE("padding never makes a step cheaper, and cost stays monotone in the batch") {
  property("for any batch", [](Draw& draw) {
    const auto model = wrapped({vllm_graph_batch_sizes(), std::nullopt});
    const StepLoad load = mixed(draw.growing(0, 699), draw.growing(0, 9999), draw.growing(0, 99));
    StepLoad more = load;
    more.decode_sequences += 1;
    RECTO_REQUIRE(model->cost(load).total() >= inner()->cost(load).total());
    RECTO_REQUIRE(model->cost(more).total() >= model->cost(load).total());
  });
}

TEST_CASE("bad options are refused, good ones described") {
  CHECK_FALSE(with_step_options(inner(), {{1, 1}, std::nullopt}).is_ok());
  CHECK_FALSE(with_step_options(inner(), {{0, 1}, std::nullopt}).is_ok());
  for (const double interference : {0.99, 2.01, 0.0 / 0.0}) {
    CHECK_FALSE(with_step_options(inner(), {{}, interference}).is_ok());
  }
  const std::string text = wrapped({{1, 2, 4}, 1.5})->describe();
  CHECK(text.find("up to 4") != std::string::npos);
  CHECK(text.find("interference 1.5") != std::string::npos);
}

}  // namespace
}  // namespace recto::sim
