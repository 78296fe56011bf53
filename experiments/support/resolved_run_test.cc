#include "experiments/support/resolved_run.h"

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

#include "bazel/testing/catch.h"
#include "experiments/support/output_file.h"
#include "experiments/support/run.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

using Settings = std::initializer_list<std::pair<const char*, const char*>>;

RunConfig make_config(Settings settings) {
  RunConfig config;
  config.requests = 20;
  for (const auto& [name, text] : settings) {
    const Status status = set_field(config, *find_run_field(name), text);
    INFO(name << ' ' << status);
    REQUIRE(status.is_ok());
  }
  return config;
}

ResolvedRun resolved(Settings settings) {
  auto run = resolve(make_config(settings));
  REQUIRE(run.is_ok());
  return run.value();
}

// A file with coefficients of a linear time model and the fields `more`.
std::string linear_file(const std::string& more) {
  const char* folder = std::getenv("TEST_TMPDIR");
  std::string path = (folder == nullptr ? std::string("/tmp") : folder) + "/linear.json";
  REQUIRE(write_file(path, R"({"source": "a test", "fixed_ns": 1e6, "per_prefill_token_ns": 1e4,)"
                           R"( "per_kv_token_ns": 100, "per_sequence_ns": 1e3)" +
                               more + "}")
              .is_ok());
  return path;
}

// Bad usage, never a broken contract.
std::string refusal(Settings settings) {
  const Status status = validate(make_config(settings));
  CHECK(status.code() == StatusCode::kInvalidInput);
  CHECK(run(make_config(settings)).status().code() == StatusCode::kInvalidInput);
  return status.message();
}

TEST_CASE("12 GiB are 15,728 slots of OPT-13B, whatever the block size") {
  CHECK(resolved({{"pool_gib", "12"}}).pool_slots == TokenCount(15'728));
  CHECK(resolved({{"pool_gib", "12"}, {"block_size", "256"}}).pool_slots == TokenCount(15'728));
  CHECK(resolved({{"pool_gib", "12"}, {"allocator", "contiguous-max"}}).pool_slots ==
        TokenCount(15'728));
  CHECK(resolved({{"pool_blocks", "10"}}).pool_slots == TokenCount(160));
  // Under tensor parallelism each card holds its share of every token.
  CHECK(resolved({{"pool_gib", "12"}, {"tp", "2"}}).pool_slots == TokenCount(31'457));
}

TEST_CASE("settings reach the scheduler in its own units") {
  const auto options = resolved({{"pool_slots", "1000"},
                                 {"watermark", "0.1"},
                                 {"host_gib", "1"},
                                 {"preemption", "swap"},
                                 {"ttft_limit_ms", "1.5"}})
                           .options;
  CHECK(options.scheduler.watermark == TokenCount(96));  // 6 of 62 blocks
  CHECK(options.scheduler.host_pool == TokenCount(1310));
  CHECK(options.scheduler.max_length == TokenCount(2048));
  CHECK(options.limits.ttft == SimDuration(1'500'000));
  CHECK_FALSE(options.limits.tpot.has_value());
}

TEST_CASE("a model's sliding window holds unless it is turned off, or blocks are shared") {
  CHECK(resolved({{"model", "Mistral-7B"}, {"gpu", "H100"}}).options.scheduler.window ==
        TokenCount(4096));
  CHECK(resolved({{"model", "Mistral-7B"}, {"gpu", "H100"}, {"window", "0"}})
            .options.scheduler.window == TokenCount(0));
  CHECK(resolved({{"model", "Mistral-7B"}, {"gpu", "H100"}, {"allocator", "prefix-cached"}})
            .options.scheduler.window == TokenCount(0));
  CHECK(resolved({{"model", "Mistral-7B"}, {"gpu", "H100"}, {"decoding", "parallel:2"}})
            .options.scheduler.window == TokenCount(0));
}

TEST_CASE("contradictions are refused, with the flag at fault") {
  CHECK_THAT(refusal({{"batching", "static"}, {"decoding", "parallel:2"}}),
             ContainsSubstring("--batching static"));
  CHECK_THAT(refusal({{"window", "64"}, {"allocator", "prefix-cached"}}),
             ContainsSubstring("--window 64"));
  CHECK_THAT(refusal({{"window", "64"}, {"decoding", "beam:2"}}), ContainsSubstring("--window 64"));
  CHECK_THAT(refusal({{"window", "1"}}), ContainsSubstring("--window"));
  CHECK_THAT(refusal({{"manager", "production"}, {"allocator", "contiguous-oracle"}}),
             ContainsSubstring("--manager production: found --allocator contiguous-oracle"));
  CHECK_THAT(refusal({{"max_batched_tokens", "255"}}), ContainsSubstring("--max-batched-tokens"));
  CHECK_THAT(refusal({{"decoding", "parallel:257"}}), ContainsSubstring("--max-sequences"));
  CHECK_THAT(refusal({{"beam_switch_probability", "0.1"}}), ContainsSubstring("beam:WIDTH"));
  CHECK_THAT(refusal({{"pool_slots", "15"}}), ContainsSubstring("has 0 blocks of 16"));
  CHECK_THAT(refusal({{"pool_slots", "32"}, {"null_blocks", "2"}}), ContainsSubstring("2 blocks"));
  CHECK_THAT(refusal({{"pool_slots", "32"}, {"pool_gib", "1"}}), ContainsSubstring("at most one"));
  CHECK_THAT(refusal({{"pool_gib", "0.0001"}}), ContainsSubstring("--pool-gib: found 0 slots"));
  CHECK_THAT(refusal({{"pool_blocks", "100000000"}}), ContainsSubstring("--pool-blocks: found"));
  CHECK_THAT(refusal({{"model", "OPT-175B"}}), ContainsSubstring("--tp 12"));
  CHECK_THAT(refusal({{"tp", "7"}}), ContainsSubstring("--tp"));
  CHECK_THAT(refusal({{"time_model", "linear:"}}), ContainsSubstring("roofline or linear:FILE"));
  CHECK_THAT(refusal({{"time_model", "linear:/"}}), ContainsSubstring("Is a directory"));
  CHECK_THAT(refusal({{"graph_sizes", "8,4"}}), ContainsSubstring("--graph-sizes"));
  CHECK_THAT(refusal({{"graph_sizes", "1,2,"}}), ContainsSubstring("--graph-sizes"));
  CHECK_THAT(refusal({{"attention_curve", "x"}}), ContainsSubstring("flashinfer"));
  CHECK_THAT(refusal({{"limit", "3"}}), ContainsSubstring("--limit: applies to --trace"));
  CHECK_THAT(refusal({{"trace", "x.csv"}}), ContainsSubstring("--requests: applies to synthetic"));
  CHECK_THAT(refusal({{"sharing", "sessions:turns=3,active=4"}, {"decoding", "parallel:2"}}),
             ContainsSubstring("sharegpt-like"));
}

TEST_CASE("a host too small for a token is refused, one token is enough") {
  CHECK_THAT(refusal({{"preemption", "swap"}, {"host_gib", "0.0007"}}),
             ContainsSubstring("--host-gib: found 0.0007, which holds no token"));
  CHECK(resolved({{"preemption", "swap"}, {"host_gib", "0.0008"}}).options.scheduler.host_pool ==
        TokenCount(1));
}

TEST_CASE("static batches may have more sequences than the token budget") {
  CHECK(run(make_config({{"batching", "static"}, {"max_sequences", "5000"}})).is_ok());
}

TEST_CASE("the source of step times is given in a few words") {
  CHECK(time_model_facts(make_config({})).value().name == "roofline");
  CHECK(time_model_facts(make_config({})).value().provenance == "cited, not measured on this card");
  const std::string path = linear_file("");
  const auto facts = time_model_facts(make_config({{"time_model", ("linear:" + path).c_str()}}));
  REQUIRE(facts.is_ok());
  CHECK(facts.value().name == "linear:" + path);
  CHECK(facts.value().provenance == "fitted, as its file says, on: a test");
  CHECK_FALSE(time_model_facts(make_config({{"time_model", "linear:nowhere"}})).is_ok());
  CHECK(run(make_config({})).value().time_model.name == "roofline");
}

TEST_CASE("measured step times need a card with results, and a measured block size") {
  setenv("RECTO_GPU_RESULTS", "sim/time/testdata", 1);
  constexpr const char* kMeasured = "measured:synthetic-not-measured";
  const Settings good = {{"model", "Llama-3.1-8B"}, {"gpu", "H100"}, {"time_model", kMeasured}};
  const auto facts = time_model_facts(make_config(good));
  REQUIRE(facts.is_ok());
  CHECK(facts.value().name == kMeasured);
  CHECK(facts.value().knows_blocks);
  CHECK_THAT(facts.value().provenance, ContainsSubstring("attention measured on SYNTHETIC"));
  CHECK(run(make_config(good)).is_ok());
  CHECK(run(make_config({{"model", "Llama-3.1-8B"},
                         {"gpu", "H100"},
                         {"time_model", kMeasured},
                         {"allocator", "contiguous-max"}}))
            .is_ok());
  CHECK_THAT(refusal({{"model", "Llama-3.1-8B"},
                      {"gpu", "H100"},
                      {"block_size", "32"},
                      {"time_model", kMeasured}}),
             ContainsSubstring("--time-model measured:synthetic-not-measured: SYNTHETIC"));
  CHECK_THAT(refusal({{"time_model", "measured:H300"}}),
             ContainsSubstring("expected one of synthetic-not-measured"));
  unsetenv("RECTO_GPU_RESULTS");
  CHECK_THAT(refusal({{"time_model", kMeasured}}), ContainsSubstring("no results yet"));
}

TEST_CASE("attention over contiguous regions takes less time than over blocks of 1") {
  const auto paged = make_time_model(resolved({{"block_size", "1"}}));
  const auto whole = make_time_model(resolved({{"allocator", "contiguous-max"}}));
  REQUIRE(paged.is_ok());
  REQUIRE(whole.is_ok());
  sim::StepLoad load;
  load.decode_sequences = 8;
  load.decode_kv_tokens = TokenCount(8000);
  CHECK(whole.value()->cost(load).attention < paged.value()->cost(load).attention);
}

TEST_CASE("every allocator runs every kind of decoding, with either preemption") {
  for (const char* allocator :
       {"paged", "prefix-cached", "contiguous-max", "contiguous-pow2", "contiguous-oracle"}) {
    for (const char* decoding : {"single", "parallel:3", "beam:3"}) {
      for (const char* preemption : {"recompute", "swap"}) {
        INFO(allocator << ' ' << decoding << ' ' << preemption);
        const auto outcome = run(make_config({{"allocator", allocator},
                                              {"decoding", decoding},
                                              {"preemption", preemption},
                                              {"host_gib", "4"},
                                              {"pool_slots", "7000"},
                                              {"scale_rate", "10"}}));
        REQUIRE(outcome.is_ok());
        CHECK(outcome.value().report.counters.requests_finished == 20);
      }
    }
  }
}

}  // namespace
}  // namespace recto::experiments
