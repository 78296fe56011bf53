#include "experiments/support/command.h"

#include "bazel/testing/catch.h"
#include "experiments/generate/generate_config.h"
#include "experiments/support/testing/tried_command.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;

testing::TriedCommand generate(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "generate");
  return testing::try_command(generate_command, std::move(arguments));
}

TEST_CASE("the built-in run shows tables, events, texts and the bytes moved") {
  const testing::TriedCommand tried = generate({});
  CHECK(tried.exit_code == 0);
  CHECK(tried.err.empty());
  CHECK_THAT(tried.out, ContainsSubstring("step 0\n  0.0  cached   0, computed 10  blocks "));
  CHECK_THAT(tried.out, ContainsSubstring("request 1 is admitted; 8 of 12 tokens are cached"));
  CHECK_THAT(tried.out, ContainsSubstring(" is copied to "));
  CHECK_THAT(tried.out, ContainsSubstring("is preempted: to be recomputed"));
  CHECK_THAT(tried.out, ContainsSubstring("sequence  prompt  output"));
  CHECK_THAT(tried.out, ContainsSubstring("bytes moved: padded gather"));
  CHECK(generate({}).out == tried.out);
  const testing::TriedCommand brief = generate({"--brief"});
  CHECK(brief.exit_code == 0);
  CHECK(tried.out.ends_with(brief.out));
}

TEST_CASE("the flag --print-config prints the built-in configuration, and excludes --brief") {
  const testing::TriedCommand tried = generate({"--print-config"});
  CHECK(tried.exit_code == 0);
  CHECK(tried.out == example_config());
  CHECK(generate({"--print-config", "--brief"}).exit_code == 2);
}

TEST_CASE("a missing file is bad input") {
  const testing::TriedCommand tried = generate({"--config", "nowhere.json"});
  CHECK(tried.exit_code == 2);
  CHECK_THAT(tried.err, ContainsSubstring("nowhere.json: No such file"));
}

struct WrongConfig {
  std::string text;
  std::string message;
};

TEST_CASE("wrong fields of a configuration are named") {
  const std::string requests = R"("requests": [{"prompt": [1]}])";
  CHECK(parse_generate_config("f", "{" + requests + "}").status() == Status::ok());
  const std::vector<WrongConfig> configs = {
      {"{", "f: expected JSON"},
      {"[]", "f: config: found []; expected an object"},
      {"{}", "f: requests: found null; expected an array of requests"},
      {R"({"requests": []})", "f: requests: found []; expected an array of requests"},
      {R"({"requests": [{"prompt": [-1]}]})",
       "f: requests[0].prompt: found [-1]; expected an array of token ids"},
      {R"({"requests": [{"width": 0}]})", "f: requests[0].width: found 0; expected 1 to 256"},
      {R"({"model": {"layers": "2"}, )" + requests + "}",
       "f: model.layers: found \"2\"; expected an integer"},
      {R"({"model": {"layer": 2}, )" + requests + "}",
       "f: model.layer: found 2; expected only the fields ffn, "},
      {R"({"cache": {"kv_type": "fp8"}, )" + requests + "}",
       "f: cache.kv_type: found \"fp8\"; expected one of fp32, fp16, bf16, e4m3, e5m2"},
      {R"({"cache": {"block_size": 3}, )" + requests + "}",
       "f: cache.block_size: found 3; expected a power of two or a multiple of 16"},
      {R"({"cache": {"block_size": 0}, )" + requests + "}",
       "f: cache.block_size: found 0; expected a power of two or a multiple of 16"},
      {R"({"cache": {"prefix_cache": 1}, )" + requests + "}",
       "f: cache.prefix_cache: found 1; expected true or false"}};
  for (const char* size : {"1", "4", "48"}) {
    const std::string cache = R"("cache": {"block_size": )" + std::string(size) + "}, ";
    CHECK(parse_generate_config("f", "{" + cache + requests + "}").status() == Status::ok());
  }
  for (const WrongConfig& wrong : configs) {
    INFO(wrong.text);
    const Status status = parse_generate_config("f", wrong.text).status();
    CHECK(status.code() == StatusCode::kInvalidInput);
    CHECK_THAT(status.message(), ContainsSubstring(wrong.message));
  }
}

}  // namespace
}  // namespace recto::experiments
