#include "experiments/support/run_config.h"

#include <string>

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

TEST_CASE("a configuration survives JSON") {
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
  CHECK_THAT(message(R"({"block-size": 1})"), ContainsSubstring("'block-size' is no setting"));
  CHECK_THAT(message(R"({"block_size": "16"})"), ContainsSubstring("block_size: found \"16\""));
  CHECK_THAT(message(R"({"block_size": 0})"), ContainsSubstring("an integer from 1 to 1048576"));
  CHECK_THAT(message(R"({"block_size": 1.5})"), ContainsSubstring("found '1.5'"));
  CHECK_THAT(message(R"({"allocator": "slab"})"), ContainsSubstring("paged, prefix-cached"));
  CHECK_THAT(message("[]"), ContainsSubstring("found array; expected an object"));
}

TEST_CASE("each field takes its own text back") {
  for (const RunField& field : run_fields()) {
    const std::string text = field_text(RunConfig(), field);
    if (text.empty()) continue;
    RunConfig config;
    INFO(field.name);
    CHECK(set_field(config, field, text).is_ok());
    CHECK(config == RunConfig());
  }
}

TEST_CASE("numbers that are none, or too large, are refused") {
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

}  // namespace
}  // namespace recto::experiments
