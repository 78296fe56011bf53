#include "sim/traces/json_traces.h"

#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "sim/traces/text_trace.h"

namespace recto::sim {
namespace {

using recto::testing::error_of;
using recto::testing::outline_of_file;
using recto::testing::read_text;

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
