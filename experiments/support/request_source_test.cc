#include "experiments/support/request_source.h"

#include <cstdlib>
#include <string>

#include "bazel/testing/catch.h"
#include "experiments/support/manifest.h"
#include "experiments/support/output_file.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string trace_with(const std::string& name, const std::string& text) {
  const char* folder = std::getenv("TEST_TMPDIR");
  std::string path = (folder == nullptr ? std::string("/tmp") : folder) + "/" + name;
  REQUIRE(write_file(path, text).is_ok());
  return path;
}

std::string csv_trace() {
  return trace_with("lengths.csv",
                    "arrival_s,prompt_tokens,output_tokens\n0,100,20\n1,50,30\n2,100,20\n");
}

TEST_CASE("lengths of a trace come as often as they occur there, in any format") {
  const std::string csv = csv_trace();
  CHECK(parse_lengths("empirical:prompts@" + csv).value().describe() == "empirical:50x1,100x2");
  CHECK(parse_lengths("empirical:outputs@" + csv).value().describe() == "empirical:20x2,30x1");
  const std::string jsonl = trace_with(
      "lengths.jsonl",
      "{\"timestamp\": 0, \"input_length\": 6, \"output_length\": 5, \"hash_ids\": [0]}\n");
  CHECK(parse_lengths("empirical:prompts@" + jsonl).value().describe() == "empirical:6x1");
  CHECK(parse_lengths("constant:7").value().describe() == "constant:7");
}

TEST_CASE("a workload draws requests, and bad input is reported with the flag and the file") {
  RunConfig config;
  config.requests = 50;
  config.prompts = "empirical:prompts@" + csv_trace();
  config.outputs = "empirical:outputs@" + csv_trace();
  config.follow_ups = config.prompts;
  auto source = open_source(config);
  REQUIRE(source.is_ok());
  for (int i = 0; i < 50; ++i) {
    const auto request = source.value().requests->next();
    REQUIRE(request.is_ok());
    const std::int64_t prompt = request.value()->prompt_tokens.value();
    CHECK((prompt == 50 || prompt == 100));
  }
  const auto message = [&](const std::string& prompts) {
    config.prompts = prompts;
    const Status status = open_source(config).status();
    CHECK(status.code() == StatusCode::kInvalidInput);
    return status.message();
  };
  CHECK_THAT(message("empirical:prompts@nowhere.csv"),
             ContainsSubstring("--prompts: nowhere.csv: cannot be opened"));
  CHECK_THAT(message("empirical:prompts@"), ContainsSubstring("expected a trace behind the @"));
  const std::string bad =
      trace_with("bad.csv", "arrival_s,prompt_tokens,output_tokens\n0,100,20\n1,-5,30\n");
  CHECK_THAT(message("empirical:prompts@" + bad), ContainsSubstring("bad.csv:3: "));
}

TEST_CASE("the manifest has the file with its size and hash, once") {
  RunConfig config;
  config.prompts = "empirical:prompts@" + csv_trace();
  config.outputs = "empirical:outputs@" + csv_trace();
  config.follow_ups = "constant:5";
  const auto manifest = begin_manifest("simulate", {config});
  REQUIRE(manifest.is_ok());
  REQUIRE(manifest.value()["inputs"].size() == 1);
  CHECK(manifest.value()["inputs"][0]["path"] == csv_trace());
  CHECK(manifest.value()["inputs"][0]["bytes"] == 64);
}

}  // namespace
}  // namespace recto::experiments
