#include "experiments/support/run_config.h"

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

RunConfig with(std::string_view field, std::string_view text) {
  RunConfig config;
  REQUIRE(set_field(config, *find_run_field(field), text).is_ok());
  return config;
}

TEST_CASE("every member of a configuration is in the table of fields") {
  // Members are strings, 8-byte numbers and optional ones. A new one changes the size.
  std::size_t bytes = 0;
  for (const RunField& field : run_fields()) {
    bytes += std::visit([](const auto& m) { return sizeof(std::declval<RunConfig&>().*m.member); },
                        field.member);
  }
  CHECK(bytes == sizeof(RunConfig));
}

TEST_CASE("a configuration is read back from its JSON") {
  RunConfig config = with("block_size", "32");
  config.trace = "azure.csv";
  config.pool_gib = 12.5;
  config.limit = 100;
  config.watermark = 0.1;
  const Json json = parse_json(json_text(to_json(config))).value();
  CHECK(json.size() == run_fields().size());
  CHECK(json["limit"] == 100);
  CHECK(json["workload"].is_null());
  const auto read = run_config_from_json(json);
  REQUIRE(read.is_ok());
  CHECK(read.value() == config);
}

TEST_CASE("missing settings are the defaults, unknown and mistyped ones are named") {
  CHECK(run_config_from_json(Json::object()).value() == RunConfig());
  const auto message = [](const char* text) {
    return run_config_from_json(parse_json(text).value()).status().message();
  };
  CHECK_THAT(message(R"({"block-size": 1})"), ContainsSubstring("'block-size' is not a setting"));
  CHECK_THAT(message(R"({"block_size": "16"})"), ContainsSubstring("block_size: found \"16\""));
  CHECK_THAT(message(R"({"block_size": 0})"), ContainsSubstring("an integer from 1 to 1048576"));
  CHECK_THAT(message(R"({"block_size": 1.5})"), ContainsSubstring("found '1.5'"));
  CHECK_THAT(message(R"({"allocator": "slab"})"), ContainsSubstring("paged, prefix-cached"));
  CHECK_THAT(message("[]"), ContainsSubstring("found array; expected an object"));
}

TEST_CASE("each field parses the text of its default") {
  for (const RunField& field : run_fields()) {
    const std::string text = field_text(RunConfig(), field);
    if (text.empty()) continue;
    RunConfig config;
    INFO(field.name);
    CHECK(set_field(config, field, text).is_ok());
    CHECK(config == RunConfig());
  }
}

TEST_CASE("malformed and out-of-range numbers are refused") {
  RunConfig config;
  for (const char* text : {"", " 1", "1 ", "0x10", "1e3", "-1", "99999999999999999999"}) {
    INFO(text);
    CHECK_FALSE(set_field(config, *find_run_field("block_size"), text).is_ok());
  }
  for (const char* text : {"nan", "inf", "-0.5", "1.5", "half"}) {
    INFO(text);
    CHECK_FALSE(set_field(config, *find_run_field("utilization"), text).is_ok());
  }
  CHECK(config == RunConfig());
}

TEST_CASE("fields are found by key and by flag") {
  CHECK(find_run_field("--block-size") == find_run_field("block_size"));
  CHECK(flag_of(*find_run_field("block_size")) == "--block-size");
  CHECK(find_run_field("nope") == nullptr);
  CHECK(find_run_field("--") == nullptr);
}

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
       "--model GPT-2-small: has no effect here: --model-file gives the model",
       {{"model_file", "x.json"}}},
      {{{"utilization", "0.5"}, {"pool_gib", "4"}},
       "--utilization 0.5: has no effect here: the size of the pool was given",
       {{"utilization", "0.5"}}},
      {{{"follow_ups", "constant:8"}},
       "--follow-ups constant:8: has no effect here: it applies to workloads with sessions",
       {{"follow_ups", "constant:8"}, {"workload", "chat"}}},
      {{{"trace", "x.csv"}, {"seed", "2"}},
       "--seed 2: has no effect here: a trace has no random choices",
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
  CHECK_THAT(status.message(), ContainsSubstring("--seeds: found 5; expected 1, as a trace has"));
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
