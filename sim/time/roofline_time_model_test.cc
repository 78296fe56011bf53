#include "sim/time/roofline_time_model.h"

#include <algorithm>
#include <limits>
#include <string>

#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

using Catch::Approx;

// Round figures: 1 TB/s, 100 TFLOPS, 100 GB/s links; no derating unless a test sets it.
GpuSpec plain_gpu() {
  GpuSpec gpu = find_gpu("A100-80").value();
  gpu.name = "plain";
  gpu.memory_bandwidth_bytes_per_s = 1e12;
  gpu.dense_16bit_flops_per_s = 1e14;
  gpu.peer_link_bytes_per_s = 1e11;
  return gpu;
}

RooflineSetup plain_setup() {
  RooflineSetup setup;
  setup.model = find_model("Llama-3.1-8B").value();
  setup.gpu = plain_gpu();
  setup.constants.streaming_efficiency.value = 1;
  setup.constants.matmul_efficiency.value = 1;
  setup.constants.prefill_attention_efficiency.value = 1;
  setup.constants.link_efficiency.value = 1;
  setup.curve.points = {{1, 0.25}, {16, 0.5}};
  return setup;
}

RooflineSetup cited_setup(const char* model, const char* gpu, std::int64_t ranks) {
  RooflineSetup setup;
  setup.model = find_model(model).value();
  setup.gpu = find_gpu(gpu).value();
  setup.shape.tensor_parallel = ranks;
  return setup;
}

StepLoad decode(std::int64_t sequences, std::int64_t kv_tokens) {
  StepLoad load;
  load.decode_sequences = sequences;
  load.decode_kv_tokens = TokenCount(kv_tokens);
  load.decode_kv_blocks = blocks_for(load.decode_kv_tokens, TokenCount(16));
  return load;
}

StepLoad prefill(std::int64_t tokens) {
  StepLoad load;
  load.prefill_sequences = 1;
  load.prefill_tokens = TokenCount(tokens);
  load.prefill_kv_tokens = TokenCount(tokens);
  load.prefill_pairs = tokens * (tokens + 1) / 2;
  return load;
}

StepCost cost_of(const RooflineSetup& setup, const StepLoad& load) {
  return RooflineTimeModel::make(setup).value().cost(load);
}

TEST_CASE("a small decode step is bound by weights and KV reads, as calculated by hand") {
  const StepCost cost = cost_of(plain_setup(), decode(8, 16'000));
  CHECK(cost.fixed == SimDuration(32 * 7 * 1300));
  // (32 x 218,103,808 + 525,336,576) weights of 2 bytes at 1 TB/s
  CHECK(cost.linear == SimDuration(15'009'317));
  // 16,000 x 131,072 B at 0.5 TB/s, and 1000 entries x 32 layers x 8 heads x 32 B at 1 TB/s
  CHECK(cost.attention == SimDuration(4'194'304 + 8'192));
  CHECK(cost.copy == SimDuration(0));
  CHECK(cost.overlap == SimDuration(0));
}

TEST_CASE("a large prefill step is bound by matrix products, as calculated by hand") {
  const StepCost cost = cost_of(plain_setup(), prefill(2048));
  // 2048 tokens x 2 x 6,979,321,856, and one row of logits x 2 x 525,336,576, at 100 TFLOPS
  CHECK(cost.linear == SimDuration(285'883'530));
  // 2,098,176 pairs x 4 x 32 layers x 32 heads x 128 at 100 TFLOPS
  CHECK(cost.attention == SimDuration(11'000'485));
}

TEST_CASE("prefill against a long cached prefix is bound by reading it") {
  StepLoad load = prefill(1);
  load.prefill_kv_tokens = TokenCount(100'000);
  load.prefill_pairs = 100'000;
  CHECK(cost_of(plain_setup(), load).attention == SimDuration(26'214'400));
}

TEST_CASE("copy-on-write reads and writes each slot") {
  StepLoad load;
  load.copied_slots = TokenCount(16);
  CHECK(cost_of(plain_setup(), load).copy == SimDuration(4194));  // 2 x 2 MiB at 1 TB/s
  CHECK(cost_of(plain_setup(), load).linear == SimDuration(0));
}

TEST_CASE("tensor parallelism shares out weights and KV, and pays for all-reduces") {
  RooflineSetup setup = plain_setup();
  setup.shape.tensor_parallel = 2;
  const StepCost cost = cost_of(setup, decode(8, 16'000));
  // half the weights; 64 all-reduces of 6 us, and of 8 x 4096 x 2 B at 100 GB/s (ring share 1)
  CHECK(cost.linear == SimDuration(7'504'658 + 64 * 6000 + 41'943));
  CHECK(cost.attention == SimDuration((4'194'304 + 8'192) / 2));
}

TEST_CASE("with an attention curve, attention at block size 1 takes twice as long as at 16") {
  RooflineSetup setup = plain_setup();
  StepLoad load = decode(8, 16'000);
  const SimDuration at_16 = cost_of(setup, load).attention;
  setup.shape.block_size = TokenCount(1);
  load.decode_kv_blocks = BlockCount(16'000);
  CHECK(cost_of(setup, load).attention.value() > 2 * at_16.value() - 10'000);
}

TEST_CASE("exposed host work is fixed cost") {
  RooflineSetup setup = plain_setup();
  const SimDuration overlapped = cost_of(setup, {}).fixed;
  setup.host_work = HostWork::kExposed;
  CHECK(cost_of(setup, {}).fixed - overlapped == SimDuration(4'000'000));
}

TEST_CASE("every model on every card has step costs of at least 1 ns that grow with the load") {
  property("for any load", [](Draw& draw) {
    const ModelSpec model = draw.element(model_table());
    const GpuSpec gpu = draw.element(gpu_table());
    RooflineSetup setup = cited_setup(model.name.c_str(), gpu.name.c_str(), 1);
    setup.shape.tensor_parallel = draw.element<std::int64_t>({1, 2, 4});
    const auto made = RooflineTimeModel::make(setup);
    RECTO_REQUIRE(made.status() == Status::ok());
    const RooflineTimeModel& time = made.value();

    StepLoad load = decode(draw.growing(0, 599), draw.growing(0, 1'999'999));
    load.prefill_sequences = draw.growing(0, 8);
    load.prefill_tokens = TokenCount(load.prefill_sequences * draw.growing(1, 4095));
    load.prefill_kv_tokens = load.prefill_tokens;
    load.prefill_pairs = load.prefill_tokens.value() * draw.growing(1, 99'999);
    load.copied_slots = TokenCount(draw.growing(0, 9999));
    const StepCost cost = time.cost(load);
    RECTO_REQUIRE(cost.total() >= SimDuration(1));
    for (const SimDuration part : {cost.fixed, cost.linear, cost.attention, cost.copy}) {
      RECTO_REQUIRE(part >= SimDuration(0));
    }
    RECTO_REQUIRE(cost.total() == cost.fixed + cost.linear + cost.attention + cost.copy);

    StepLoad more = load;
    more.decode_sequences += draw.growing(0, 2);
    more.decode_kv_tokens += TokenCount(draw.growing(0, 999));
    more.decode_kv_blocks += BlockCount(draw.growing(0, 99));
    more.prefill_tokens += TokenCount(draw.growing(0, 999));
    more.prefill_kv_tokens += TokenCount(draw.growing(0, 999));
    more.prefill_pairs += draw.growing(0, 999'999);
    more.copied_slots += TokenCount(draw.growing(0, 2));
    RECTO_REQUIRE(time.cost(more).total() >= cost.total());
  });
}

TEST_CASE("every constant has a source") {
  for (const NamedConstant& named : named_constants({})) {
    INFO(named.name);
    CHECK(std::string(named.constant.source).size() > 20);
  }
}

TEST_CASE("a report says that constants and curve are cited") {
  const auto time = RooflineTimeModel::make(cited_setup("OPT-13B", "A100-40", 1)).value();
  const std::string text = time.describe();
  CHECK(text.find("OPT-13B on 1 x A100-40, block 16") != std::string::npos);
  CHECK(text.find("constants cited, not measured on this card") != std::string::npos);
  CHECK(text.find("flashinfer") != std::string::npos);
}

TEST_CASE("an unusable setup is refused with the field that is wrong") {
  const auto message = [](const RooflineSetup& setup) {
    return RooflineTimeModel::make(setup).status().message();
  };
  RooflineSetup bad = plain_setup();
  bad.constants.matmul_efficiency.value = 1.5;
  CHECK(message(bad).find("constant 'matmul_efficiency': 1.5") != std::string::npos);
  bad = plain_setup();
  bad.constants.kernel_launch_ns.value = -1;
  CHECK(message(bad).find("constant 'kernel_launch_ns'") != std::string::npos);
  bad = plain_setup();
  bad.shape.tensor_parallel = 3;
  CHECK(message(bad).find("tensor parallelism = 3") != std::string::npos);
  bad = plain_setup();
  bad.gpu.memory_bandwidth_bytes_per_s = 0;
  CHECK(message(bad) ==
        "GPU 'plain', field 'memory_bandwidth_bytes_per_s': 0.000000; expected more than 0");
  bad = plain_setup();
  bad.gpu.dense_16bit_flops_per_s = std::numeric_limits<double>::quiet_NaN();
  CHECK(message(bad).find("field 'dense_16bit_flops_per_s': nan") != std::string::npos);
  bad = plain_setup();
  bad.gpu.peer_link_bytes_per_s = -1;
  CHECK(message(bad).find("field 'peer_link_bytes_per_s': -1") != std::string::npos);
  bad = plain_setup();
  bad.model.num_layers = 0;
  CHECK(message(bad).find("field 'num_layers': 0") != std::string::npos);
  bad = plain_setup();
  bad.curve.points.clear();
  CHECK(message(bad).find("attention curve") != std::string::npos);
}

}  // namespace
}  // namespace recto::sim
