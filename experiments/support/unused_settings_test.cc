#include "experiments/support/run_config.h"

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

using Settings = std::initializer_list<std::pair<const char*, const char*>>;

RunConfig make_config(Settings settings) {
  RunConfig config;
  for (const auto& [name, text] : settings) {
    REQUIRE(set_field(config, *find_run_field(name), text).is_ok());
  }
  return config;
}

// Empty if nothing is refused.
std::string refusal(std::initializer_list<Settings> runs) {
  std::vector<RunConfig> configs;
  for (const Settings& settings : runs) configs.push_back(make_config(settings));
  const Status status = refuse_unused(configs);
  CHECK((status.is_ok() || status.code() == StatusCode::kInvalidInput));
  return status.message();
}

TEST_CASE(
    "a setting without effect is refused, by its flag and the reason; with effect it is not") {
  struct Case {
    Settings idle;
    const char* message;
    Settings used;
  };
  const Case cases[] = {
      {{{"preemption", "swap"}},
       "--preemption swap: has no effect here: nothing can be swapped to a host of --host-gib 0",
       {{"preemption", "swap"}, {"host_gib", "4"}}},
      {{{"host_gib", "4"}},
       "--host-gib 4: has no effect here: it applies to --preemption swap",
       {{"preemption", "swap"}, {"host_gib", "4"}}},
      {{{"host_bandwidth", "25"}},
       "--host-bandwidth 25: has no effect here: it applies to --preemption swap",
       {{"preemption", "swap"}, {"host_gib", "4"}, {"host_bandwidth", "25"}}},
      {{{"attention_curve", "fa4"}, {"time_model", "linear:x"}},
       "--attention-curve fa4: has no effect here: it applies to --time-model roofline",
       {{"attention_curve", "fa4"}}},
      {{{"attention_curve", "fa4"}, {"allocator", "contiguous-max"}},
       "--attention-curve fa4: has no effect here: it applies to the allocators paged and",
       {{"attention_curve", "fa4"}, {"allocator", "prefix-cached"}}},
      {{{"host_work", "exposed"}, {"time_model", "linear:x"}},
       "--host-work exposed: has no effect here: it applies to --time-model roofline",
       {{"host_work", "exposed"}}},
      {{{"placement", "best-fit"}},
       "--placement best-fit: has no effect here: it applies to the allocators contiguous-max",
       {{"placement", "best-fit"}, {"allocator", "contiguous-oracle"}}},
      {{{"null_blocks", "1"}, {"allocator", "contiguous-max"}},
       "--null-blocks 1: has no effect here: it applies to the allocators paged and",
       {{"null_blocks", "1"}}},
      {{{"block_size", "32"}, {"allocator", "contiguous-max"}},
       "--block-size 32: has no effect here",
       {{"block_size", "32"}, {"allocator", "contiguous-max"}, {"pool_blocks", "90"}}},
      {{{"admission", "first-chunk"}, {"prefill", "whole"}},
       "--admission first-chunk: has no effect here: it applies to --prefill chunked",
       {{"admission", "first-chunk"}}},
      {{{"model", "GPT-2-small"}, {"model_file", "x.json"}},
       "--model GPT-2-small: has no effect here: --model-file says which",
       {{"model_file", "x.json"}}},
      {{{"utilization", "0.5"}, {"pool_gib", "4"}},
       "--utilization 0.5: has no effect here: the size of the pool was given",
       {{"utilization", "0.5"}}},
      {{{"follow_ups", "constant:8"}},
       "--follow-ups constant:8: has no effect here: it applies to workloads with sessions",
       {{"follow_ups", "constant:8"}, {"workload", "chat"}}},
      {{{"trace", "x.csv"}, {"seed", "2"}},
       "--seed 2: has no effect here: a trace draws nothing by chance",
       {{"trace", "x.csv"},
        {"seed", "2"},
        {"decoding", "beam:2"},
        {"beam_switch_probability", "0.5"}}},
  };
  for (const Case& tried : cases) {
    CHECK_THAT(refusal({tried.idle}), ContainsSubstring(tried.message));
    CHECK(refusal({tried.used}).empty());
  }
}

TEST_CASE("several seeds are refused where nothing is drawn by chance") {
  const std::vector<RunConfig> traced{make_config({{"trace", "x.csv"}})};
  CHECK(refuse_idle_seeds(traced, 1).is_ok());
  const Status status = refuse_idle_seeds(traced, 5);
  CHECK(status.code() == StatusCode::kInvalidInput);
  CHECK_THAT(status.message(), ContainsSubstring("--seeds: found 5; expected 1, as a trace draws"));
  const RunConfig beams =
      make_config({{"trace", "x.csv"}, {"decoding", "beam:2"}, {"beam_switch_probability", "0.1"}});
  CHECK(refuse_idle_seeds({&beams, 1}, 5).is_ok());
  CHECK(refuse_idle_seeds(std::vector{traced[0], beams}, 5).is_ok());
  CHECK(refuse_idle_seeds(std::vector{RunConfig()}, 5).is_ok());
}

TEST_CASE("static batches take no settings of continuous ones") {
  for (const auto& [name, text] : {std::pair{"max_batched_tokens", "4096"},
                                   {"prefill", "whole"},
                                   {"admission", "first-chunk"},
                                   {"preemption", "swap"},
                                   {"host_gib", "4"},
                                   {"host_bandwidth", "25"}}) {
    const std::string message = refusal({{{"batching", "static"}, {name, text}}});
    CHECK_THAT(message, ContainsSubstring(flag_of(*find_run_field(name)) + ' ' + text));
    CHECK_THAT(message, ContainsSubstring("--batching continuous"));
  }
  CHECK(refusal({{{"batching", "static"}, {"watermark", "0.1"}, {"max_sequences", "8"}}}).empty());
}

TEST_CASE("in a grid it is enough that one of the runs with the setting uses it") {
  CHECK(refusal({{{"placement", "best-fit"}},
                 {{"placement", "best-fit"}, {"allocator", "contiguous-max"}}})
            .empty());
  CHECK(refusal({{{"allocator", "contiguous-max"}}, {{"null_blocks", "1"}}}).empty());
  // The run that could use it has the default.
  CHECK_THAT(refusal({{{"placement", "best-fit"}}, {{"allocator", "contiguous-max"}}}),
             ContainsSubstring("--placement best-fit"));
  CHECK(refusal({}).empty());
  CHECK(refusal({{}}).empty());
}

}  // namespace
}  // namespace recto::experiments
