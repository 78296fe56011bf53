// Tests with round figures of an invented card: 1 TB/s, 100 TFLOP/s
// (testdata/synthetic-not-measured).

#include "sim/time/measured_time_model.h"

#include <string>

#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

MeasuredTimes synthetic() {
  return load_measured_times("sim/time/testdata/synthetic-not-measured/attention.json").value();
}

// 32 layers, 32 query heads and 8 KV heads of dim 128, as in the synthetic figures.
MeasuredSetup setup_of(std::int64_t block_size) {
  MeasuredSetup setup;
  setup.roofline.model = find_model("Llama-3.1-8B").value();
  setup.roofline.gpu = find_gpu("H100").value();
  setup.roofline.shape.block_size = TokenCount(block_size);
  return setup;
}

MeasuredTimeModel model_of(std::int64_t block_size) {
  return MeasuredTimeModel::make(setup_of(block_size), synthetic()).value();
}

StepLoad decode(std::int64_t sequences, std::int64_t kv_tokens) {
  StepLoad load;
  load.decode_sequences = sequences;
  load.decode_kv_tokens = TokenCount(kv_tokens);
  return load;
}

StepLoad prefill(std::int64_t context, std::int64_t rows) {
  StepLoad load;
  load.prefill_sequences = 1;
  load.prefill_tokens = TokenCount(rows);
  load.prefill_kv_tokens = TokenCount(context);
  load.prefill_pairs = rows * context - rows * (rows - 1) / 2;
  return load;
}

std::string refusal(const MeasuredSetup& setup) {
  return MeasuredTimeModel::make(setup, synthetic()).status().message();
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

TEST_CASE("decode attention takes its measured time in each layer, interpolated between points") {
  CHECK(model_of(16).cost(decode(1, 1024)).attention == SimDuration(32 * 10'000));
  CHECK(model_of(16).cost(decode(64, 64 * 4096)).attention == SimDuration(32 * 1'600'000));
  CHECK(model_of(1).cost(decode(64, 64 * 4096)).attention == SimDuration(32 * 3'200'000));
  // Half way between the two points that surround it.
  CHECK(model_of(16).cost(decode(64, 64 * 2560)).attention == SimDuration(32 * 1'000'000));
}

TEST_CASE("a decode step's time says whether it was measured or interpolated") {
  const MeasuredDecode measured = model_of(1).decode(TokenCount(64 * 4096));
  CHECK(measured.ns == 32 * 3'200'000);
  CHECK(measured.part == CurvePart::kAtPoint);
  CHECK(model_of(1).decode(TokenCount(64 * 2560)).part == CurvePart::kBetween);
}

TEST_CASE("prefill attention takes the longer of its products and of reading its keys") {
  CHECK(model_of(16).cost(prefill(512, 512)).attention == SimDuration(32 * 100'000));
  // One row over a long context costs as much as a decode of that many tokens.
  CHECK(model_of(16).cost(prefill(262144, 1)).attention == SimDuration(32 * 1'600'000));
}

TEST_CASE("weights are read at the rate at which the card copies") {
  RooflineSetup plain = setup_of(16).roofline;
  plain.gpu.memory_bandwidth_bytes_per_s = 1e12;
  plain.gpu.dense_16bit_flops_per_s = 1e14;
  plain.constants.streaming_efficiency.value = 1;
  plain.constants.matmul_efficiency.value = 1;
  const StepCost expected = RooflineTimeModel::make(plain).value().cost(decode(4, 4096));
  const StepCost cost = model_of(16).cost(decode(4, 4096));
  CHECK(cost.linear == expected.linear);
  CHECK(cost.fixed == expected.fixed);
}

TEST_CASE("ranks have their share of heads") {
  MeasuredSetup setup = setup_of(16);
  setup.roofline.shape.tensor_parallel = 2;
  const MeasuredTimeModel model = MeasuredTimeModel::make(setup, synthetic()).value();
  CHECK(model.cost(decode(64, 2 * 64 * 4096)).attention == SimDuration(32 * 1'600'000));
}

TEST_CASE("contiguous regions have figures of their own") {
  MeasuredSetup setup = setup_of(16);
  setup.placement = KvPlacement::kContiguous;
  const MeasuredTimeModel model = MeasuredTimeModel::make(setup, synthetic()).value();
  CHECK(model.cost(decode(64, 64 * 4096)).attention == SimDuration(32 * 1'500'000));
  CHECK(has(model.describe(), "contiguous"));
}

TEST_CASE("a configuration that was not measured is refused, with the nearest measured ones") {
  CHECK(has(refusal(setup_of(32)),
            "decode was not measured with group 4, head dim 128, KV elements of 2 B, block 32; "
            "nearest measured: group 4, head dim 128, KV elements of 2 B, contiguous; group 4"));
  MeasuredSetup other = setup_of(16);
  other.roofline.model = find_model("OPT-13B").value();
  CHECK(has(refusal(other), "with group 1, head dim 128, KV elements of 2 B, block 16; nearest"));
  other = setup_of(16);
  other.roofline.shape.kv_element_bytes = 1;
  CHECK(has(refusal(other), "KV elements of 1 B"));
}

TEST_CASE("the description names the measured and the cited parts") {
  const std::string text = model_of(16).describe();
  CHECK(has(text, "attention on SYNTHETIC"));
  CHECK(has(text, "launches and links cited, not measured"));
}

TEST_CASE("a larger load never takes less time") {
  const MeasuredTimeModel model = model_of(16);
  property("monotone in each count", [&](Draw& draw) {
    const auto count = [&draw] { return draw.growing(0, (1 << 20) - 1); };
    StepLoad load = decode(draw.growing(1, 299), count());
    load.prefill_kv_tokens = TokenCount(count());
    load.prefill_tokens = TokenCount(draw.growing(0, 4095));
    load.prefill_pairs = count() * 64;
    const SimDuration before = model.cost(load).total();
    for (const int which : {0, 1, 2, 3}) {
      StepLoad more = load;
      if (which == 0) more.decode_kv_tokens += TokenCount(count());
      if (which == 1) more.prefill_kv_tokens += TokenCount(count());
      if (which == 2) more.prefill_pairs += count();
      if (which == 3) more.decode_sequences += 1;
      RECTO_REQUIRE(model.cost(more).total() >= before);
    }
  });
}

}  // namespace
}  // namespace recto::sim
