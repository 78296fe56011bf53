#include "sim/traces/json_traces.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "sim/traces/text_trace.h"

namespace recto::sim {
namespace {

using recto::testing::error_of;
using recto::testing::outline;
using recto::testing::outline_of_file;
using recto::testing::read_text;

std::vector<std::int64_t> run_lengths(const Request& request) {
  std::vector<std::int64_t> lengths;
  for (const ContentRun& run : request.content->prompt_runs) lengths.push_back(run.length.value());
  return lengths;
}

TEST_CASE("both formats of block ids are read from their fixtures") {
  CHECK(outline_of_file("sim/traces/testdata/mooncake.jsonl") ==
        "Mooncake JSONL: 0 1124 500; 27000000 1024 490; 3000000000 12 1");
  CHECK(outline_of_file("sim/traces/testdata/bailian.jsonl") ==
        "Qwen-Bailian JSONL: 0 36 132; 1386000000 48 80");
}

TEST_CASE("ids become runs of a block each, the last one shorter") {
  const auto mooncake = read_text(
      "{\"timestamp\": 0, \"input_length\": 1124, \"output_length\": 1, "
      "\"hash_ids\": [7, 65543, 4294967303]}\n"  // 2^16 and 2^32 above the first
      "{\"timestamp\": 0, \"input_length\": 1024, \"output_length\": 1, "
      "\"hash_ids\": [7, 10]}\n");
  const Request& first = mooncake.value()[0];
  const Request& second = mooncake.value()[1];
  CHECK(run_lengths(first) == std::vector<std::int64_t>{512, 512, 100});
  CHECK(run_lengths(second) == std::vector<std::int64_t>{512, 512});
  CHECK(first.content->prompt_runs[0] == second.content->prompt_runs[0]);
  std::set<std::uint64_t> ids;
  for (const ContentRun& run : first.content->prompt_runs) ids.insert(run.content_id);
  for (const ContentRun& run : second.content->prompt_runs) ids.insert(run.content_id);
  CHECK(ids.size() == 4);

  const auto bailian = read_text(
      "{\"chat_id\": 1, \"timestamp\": 0.5, \"input_length\": 33, \"output_length\": 1, "
      "\"hash_ids\": [18446744073709551615, 0, 1]}\n");
  CHECK(run_lengths(bailian.value()[0]) == std::vector<std::int64_t>{16, 16, 1});
}

TEST_CASE("fields may stand in any order and unknown ones are passed over") {
  CHECK(outline(read_text(
            R"({"hash_ids":[1],"x":{"input_length":[{}]},"output_length":2,"timestamp":1.5,)"
            R"("input_length":3})")) == "0 3 2");
  CHECK(outline(read_text("{\"timestamp\":0.5,\"input_length\":3,\"output_length\":2,\"hash_ids\":"
                          "[1]}\n{\"timestamp\":2e0,\"input_length\":3,\"output_length\":2,"
                          "\"hash_ids\":[1]}")) == "0 3 2; 1500000 3 2");
}

// A Mooncake row with one field written as given.
std::string row(const std::string& field, const std::string& value) {
  std::string text = "{";
  for (const auto& [name, usual] : {std::pair<std::string, std::string>{"timestamp", "0"},
                                    {"input_length", "513"},
                                    {"output_length", "1"},
                                    {"hash_ids", "[1, 2]"}}) {
    if (name == field && value.empty()) continue;
    text += "\"" + name + "\": " + (name == field ? value : usual) + ", ";
  }
  return text + "\"z\": 0}\n";
}

TEST_CASE("a field with a wrong value is refused by name") {
  REQUIRE(error_of(row("", "")).empty());
  const std::string length = ": expected a whole number from 1 to 100000000, got ";
  CHECK(error_of(row("input_length", "-3")) == "t:1: field input_length" + length + "\"-3\"");
  CHECK(error_of(row("input_length", "0")) == "t:1: field input_length" + length + "\"0\"");
  CHECK(error_of(row("input_length", "1e9")) == "t:1: field input_length" + length + "\"1e9\"");
  CHECK(error_of(row("output_length", "0")) == "t:1: field output_length" + length + "\"0\"");
  CHECK(error_of(row("output_length", "2.5")) == "t:1: field output_length" + length + "\"2.5\"");
  CHECK(error_of(row("output_length", "\"5\"")) ==
        "t:1: field output_length" + length + "\"\"5\"\"");
  CHECK(error_of(row("output_length", "null")) == "t:1: field output_length" + length + "\"null\"");
  CHECK(error_of(row("input_length", "100000001")) ==
        "t:1: field input_length" + length + "\"100000001\"");
  for (const std::string time : {"-1", "\"0\"", "1e300", "true", "NaN", "[0]"}) {
    CHECK(error_of(row("timestamp", time))
              .starts_with("t:1: field timestamp: expected milliseconds, a number of at least 0, "
                           "got \""));
  }
}

TEST_CASE("ids that do not fit the prompt are refused") {
  CHECK(error_of(row("hash_ids", "[1]")) ==
        "t:1: field hash_ids: expected 2 ids (one per 512 tokens of input_length 513), got 1");
  CHECK(error_of(row("hash_ids", "[1, 2, 3]")) ==
        "t:1: field hash_ids: expected 2 ids (one per 512 tokens of input_length 513), got 3");
  CHECK(error_of(row("hash_ids", "[]")) ==
        "t:1: field hash_ids: expected 2 ids (one per 512 tokens of input_length 513), got 0");
  CHECK(error_of(row("hash_ids", "[1, -2]")) ==
        "t:1: field hash_ids: expected whole numbers from 0 to 18446744073709551615, got \"-2\"");
  CHECK(error_of(row("hash_ids", "[1, 2.5]")) ==
        "t:1: field hash_ids: expected whole numbers from 0 to 18446744073709551615, got \"2.5\"");
  CHECK(error_of(row("hash_ids", "7")) ==
        "t:1: field hash_ids: expected an array of whole numbers from 0 to 18446744073709551615, "
        "got \"7\"");
}

TEST_CASE("a missing or repeated field is refused") {
  CHECK(error_of(row("timestamp", "")) ==
        "t:1: field timestamp: expected milliseconds, a number of at least 0, but it is missing");
  CHECK(error_of(row("output_length", "")) ==
        "t:1: field output_length: expected a whole number from 1 to 100000000, but it is missing");
  CHECK(error_of(row("hash_ids", "")) ==
        "t:1: field hash_ids: expected an array with one id per 512 tokens, but it is missing");
  CHECK(error_of(R"({"input_length": 1, "input_length": 1})") ==
        "t:1: field input_length: appears more than once");
}

TEST_CASE("lines that are no JSON object are refused") {
  const std::string good = row("", "");
  for (const std::string bad : {"{\"timestamp\": 0, \"input_length\": 5", "{\"timestamp\": 0", "{",
                                "[]", "5", "{} {}", "{\"timestamp\" 0}", "{\"timestamp\": 0}}",
                                "{timestamp: 0}", "\"text\"", "{]", "{\"timestamp\": 0,}"}) {
    CAPTURE(bad);
    CHECK(error_of(good + bad + "\n") ==
          "t:2: expected one JSON object on the line, got \"" + bad + "\"");
  }
  CHECK(error_of(good + "{\"a\": \"\xff\"}\n") ==
        R"(t:2: expected one JSON object on the line, got "{"a": "\xff"}")");
}

std::string row(const std::string& more) {
  return "{\"input_toks\": 3, \"output_toks\": 2, \"arrival_time_ns\": 5" + more + "}\n";
}

TEST_CASE("the format of token ids is read from its fixture") {
  CHECK(outline_of_file("sim/traces/testdata/llmservingsim.jsonl") ==
        "LLMServingSim JSONL: 0 3 2; 1 128 512");
}

TEST_CASE("token ids of prompt and output are kept; either may be absent") {
  const auto both =
      read_text(row(", \"input_tok_ids\": [0, 2147483647, 5], \"output_tok_ids\": [7, 7]"));
  CHECK(both.value()[0].content->prompt_token_ids == std::vector<std::int32_t>{0, 2147483647, 5});
  CHECK(both.value()[0].content->output_token_ids == std::vector<std::int32_t>{7, 7});
  const auto only_output = read_text(row(", \"output_tok_ids\": [7, 7]"));
  CHECK(only_output.value()[0].content->prompt_token_ids.empty());
  CHECK(only_output.value()[0].content->output_token_ids.size() == 2);
  CHECK(read_text(row("")).value()[0].content == nullptr);
}

TEST_CASE("ids that do not fit their count, or are none, are refused") {
  CHECK(error_of(row(", \"input_tok_ids\": [1, 2]")) ==
        "t:1: field input_tok_ids: expected 3 ids (input_toks), got 2");
  CHECK(error_of(row(", \"input_tok_ids\": []")) ==
        "t:1: field input_tok_ids: expected 3 ids (input_toks), got 0");
  CHECK(error_of(row(", \"output_tok_ids\": [1, 2, 3]")) ==
        "t:1: field output_tok_ids: expected 2 ids (output_toks), got 3");
  const std::string expected =
      "t:1: field output_tok_ids: expected whole numbers from 0 to 2147483647, got ";
  CHECK(error_of(row(", \"output_tok_ids\": [1, -5]")) == expected + "\"-5\"");
  CHECK(error_of(row(", \"output_tok_ids\": [1, 2147483648]")) == expected + "\"2147483648\"");
  CHECK(error_of(row(", \"output_tok_ids\": [1, \"x\"]")) == expected + "\"\"x\"\"");
  CHECK(error_of(row(", \"output_tok_ids\": [1, [2]]")) == expected + "\"[\"");
}

TEST_CASE("missing fields are refused, and sessions too") {
  CHECK(error_of("{\"input_toks\": 3, \"output_toks\": 2}\n") ==
        "t:1: field arrival_time_ns: expected nanoseconds, a number of at least 0, but it is "
        "missing");
  CHECK(error_of("{\"input_toks\": 3, \"arrival_time_ns\": 2}\n") ==
        "t:1: field output_toks: expected a whole number from 1 to 100000000, but it is missing");
  CHECK(error_of("{\"session_id\": \"a\", \"arrival_time_ns\": 2, \"sub_requests\": [{}]}\n") ==
        "t:1: field sub_requests: expected one request per line; sessions are not supported");
}

}  // namespace
}  // namespace recto::sim
