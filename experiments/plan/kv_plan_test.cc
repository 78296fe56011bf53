#include "experiments/plan/kv_plan.h"

#include <limits>
#include <string>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

using Catch::Approx;

constexpr std::int64_t kGibi = std::int64_t{1} << 30;

KvPlanOptions options_for(const char* model, const char* gpu) {
  KvPlanOptions options;
  options.model = find_model(model).value();
  options.gpu = find_gpu(gpu).value();
  return options;
}

KvPlan plan_of(const KvPlanOptions& options) { return make_kv_plan(options).value(); }

std::string message(const KvPlanOptions& options) {
  const Status status = make_kv_plan(options).status();
  CHECK(status.code() == StatusCode::kInvalidInput);
  return status.message();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("12 GiB hold 15,728 slots of OPT-13B and seven reservations of 2048") {
  KvPlanOptions options = options_for("OPT-13B", "A100-40");
  options.kv_memory = ByteCount(12 * kGibi);
  options.lengths = {{TokenCount(161), TokenCount(338)}};
  const KvPlan plan = plan_of(options);
  CHECK(plan.bytes_per_token == ByteCount(819'200));
  CHECK(plan.pool.blocks == BlockCount(983));
  CHECK(plan.pool.slots == TokenCount(15'728));
  CHECK(plan.max_length == TokenCount(2048));
  CHECK(plan.lengths[0].contiguous == 7);
  CHECK(plan.lengths[0].blocks == BlockCount(32));  // 499 tokens
  CHECK(plan.lengths[0].tail_slots == TokenCount(13));
  CHECK(plan.lengths[0].paged == 30);
}

TEST_CASE("an 8192-token reservation for 792 tokens wastes 7400 of 8192 slots") {
  KvPlanOptions options = options_for("Llama-3.1-8B", "RTX-4090");
  options.max_length = TokenCount(8192);
  options.mean_lengths = {TokenCount(792)};
  const MeanLengthFit fit = plan_of(options).mean_lengths[0];
  CHECK(fit.contiguous.waste_share == 7400.0 / 8192);
  CHECK(fit.paged.held_slots == 799.5);
  CHECK(fit.paged.waste_share == 7.5 / 799.5);
}

// github.com/tspeterkim/paged-attention-minimal: at batch 7 of 8192 tokens on a 24 GB card 28.46 %
// of its memory is fragmented, batch 8 does not fit, and paging takes 49. The example fills the
// card, and counts generated tokens as used: 360 on average, by its first figure.
TEST_CASE("the plan has the batch sizes of the 24 GB example") {
  KvPlanOptions options = options_for("Llama-3.1-8B", "RTX-4090");
  options.max_length = TokenCount(8192);
  options.pool.memory_utilization = 1;
  options.mean_lengths = {TokenCount(360), TokenCount(1199), TokenCount(1200)};
  const KvPlan plan = plan_of(options);
  const MeanLengthFit& source = plan.mean_lengths[0];
  CHECK(source.contiguous.requests == 7);
  CHECK(100 * source.contiguous.memory_share == Approx(28.46).margin(0.005));
  CHECK(source.paged.memory_share < 0.01);
  CHECK(source.paged.requests >= 7 * 7);
  CHECK(plan.mean_lengths[1].paged.requests == 49);
  CHECK(plan.mean_lengths[2].paged.requests == 48);
  CHECK(longest_mean_length(plan, TokenCount(16), 49) == TokenCount(1199));
}

TEST_CASE("the longest mean length fits the requests, and one token more does not") {
  KvPlanOptions options = options_for("Llama-3.1-8B", "RTX-4090");
  for (const std::int64_t block_size : {1, 16, 48, 256}) {
    options.pool.shape.block_size = TokenCount(block_size);
    for (const std::int64_t requests : {1, 2, 7, 49, 1000}) {
      options.mean_lengths.clear();
      const auto edge = longest_mean_length(plan_of(options), TokenCount(block_size), requests);
      if (!edge) continue;
      options.mean_lengths = {*edge, *edge + TokenCount(1)};
      const KvPlan plan = plan_of(options);
      CHECK(plan.mean_lengths[0].paged.requests >= requests);
      CHECK(plan.mean_lengths[1].paged.requests < requests);
    }
  }
  CHECK_FALSE(longest_mean_length(plan_of(options), TokenCount(256), 1'000'000).has_value());
}

TEST_CASE("Llama-2-70B without grouped heads takes 40 GiB per K or V at 8 x 4096") {
  KvPlanOptions options = options_for("Llama-2-70B", "H200");
  options.model.num_kv_heads = options.model.num_q_heads;
  options.pool.shape.tensor_parallel = 8;
  options.lengths = {{TokenCount(4096), TokenCount(0)}};
  options.batch = 8;
  CHECK(plan_of(options).lengths[0].batch_bytes == ByteCount(2 * 40 * kGibi));
}

TEST_CASE("as many requests of a length fit as blocks allow") {
  KvPlanOptions options = options_for("Llama-3.1-8B", "H100");
  for (const std::int64_t length : {1, 15, 16, 17, 4096, 131'072}) {
    options.lengths.push_back({TokenCount(length), TokenCount(0)});
  }
  const KvPlan plan = plan_of(options);
  for (const LengthFit& fit : plan.lengths) {
    CHECK(fit.tail_slots >= TokenCount(0));
    CHECK(fit.tail_slots < TokenCount(16));
    CHECK(fit.blocks * fit.paged <= plan.pool.blocks);
    CHECK(fit.blocks * (fit.paged + 1) > plan.pool.blocks);
  }
}

TEST_CASE("a model that does not fit is bad input, with figures and the smallest --tp that fits") {
  const std::string text = message(options_for("OPT-66B", "A100-40"));
  CHECK(has(text, "131439403008"));
  CHECK(has(text, "the least that fits is --tp 4"));
  CHECK(has(message(options_for("OPT-175B", "L4")), "--tp 24"));
  KvPlanOptions hopeless = options_for("OPT-175B", "L4");
  hopeless.pool.memory_utilization = 0.1;
  CHECK(has(message(hopeless), "no number of cards up to the model's 96 query heads is enough"));
}

TEST_CASE("bad options name the flag and what was expected") {
  const auto with = [](auto change) {
    KvPlanOptions options = options_for("Llama-3.1-8B", "H100");
    change(options);
    return message(options);
  };
  CHECK(has(with([](auto& o) { o.batch = 0; }), "--batch: expected 1 to"));
  CHECK(has(with([](auto& o) { o.max_length = TokenCount(0); }), "--max-length: expected 1 to"));
  CHECK(has(with([](auto& o) { o.max_length = TokenCount(131'073); }), "got 131073"));
  CHECK(has(with([](auto& o) { o.mean_lengths = {TokenCount(0)}; }), "--mean-length: expected"));
  CHECK(has(with([](auto& o) { o.kv_memory = ByteCount(1); }), "at least one block of 2097152"));
  CHECK(has(with([](auto& o) { o.pool.shape.block_size = TokenCount(0); }), "block size = 0"));
  CHECK(has(with([](auto& o) { o.lengths = {{TokenCount(-1), TokenCount(2)}}; }), "--prompt"));
  constexpr TokenCount kMost(std::numeric_limits<std::int64_t>::max());
  CHECK(has(with([=](auto& o) { o.lengths = {{kMost, kMost}}; }), "got 9223372036854775807"));
  CHECK(has(with([](auto& o) { o.model.head_dim = 0; }), "field 'head_dim': 0; expected 1 to"));
  CHECK(has(with([](auto& o) { o.gpu.memory = ByteCount(0); }), "GPU 'H100', field 'memory': 0"));
}

TEST_CASE("a batch whose bytes can't be counted is refused") {
  KvPlanOptions options = options_for("Llama-3.1-8B", "H100");
  options.model.num_layers = options.model.num_q_heads = options.model.num_kv_heads = 10'000;
  options.model.max_context = TokenCount(1'000'000'000);
  options.kv_memory = ByteCount(std::int64_t{1} << 50);
  options.lengths = {{TokenCount(1'000'000), TokenCount(0)}};
  options.batch = 180;
  CHECK(plan_of(options).lengths[0].batch_bytes == ByteCount(51'200'000'000 * 180 * 1'000'000));
  options.batch = 181;
  CHECK(has(message(options),
            "--batch: the bytes of 181 requests of 1000000 tokens of Llama-3.1-8B "
            "can't be counted; expected at most 180"));
}

}  // namespace
}  // namespace recto::experiments
