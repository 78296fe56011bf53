#include "experiments/support/command.h"

#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/json.h"
#include "experiments/support/output_file.h"
#include "experiments/support/table.h"
#include "experiments/support/testing/tried_command.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
const std::string kTestdata = "sim/traces/testdata/";

// A file of this test, and its path.
std::string write_trace(const std::string& name, const std::string& text) {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = (folder == nullptr ? std::string("/tmp") : folder) + "/" + name;
  REQUIRE(write_file(path, text).is_ok());
  return path;
}

testing::TriedCommand trace(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "trace");
  return testing::try_command(trace_command, std::move(arguments));
}

Json trace_json_of(std::vector<std::string> arguments) {
  arguments.push_back("--json");
  const testing::TriedCommand tried = trace(std::move(arguments));
  REQUIRE(tried.exit_code == 0);
  return parse_json(tried.out).value();
}

void check_refused(const std::vector<std::string>& arguments, const std::string& message) {
  const testing::TriedCommand tried = trace(arguments);
  CHECK(tried.exit_code == 2);
  CHECK(tried.out.empty());
  CHECK_THAT(tried.err, ContainsSubstring(message));
}

TEST_CASE("a small trace prints exactly the expected text") {
  const auto tried = trace({kTestdata + "mooncake.jsonl", "--cache-tokens", "512,1M"});
  CHECK(tried.exit_code == 0);
  CHECK(tried.err.empty());
  CHECK(tried.out == 1 + R"(
sim/traces/testdata/mooncake.jsonl
Mooncake JSONL, 3 requests in 3.0 s

tokens  total   mean    p50    p90    p99    max
------  -----  -----  -----  -----  -----  -----
prompt  2,160  720.0  1,024  1,124  1,124  1,124
output    991  330.3    490    500    500    500

arrivals
  mean 0.667 per second; at most 2 within one second, 3 within one minute
  coefficient of variation of the gaps 0.98 (1 for Poisson arrivals)

tail waste, if each request were paged alone, at its end: padding over allocated slots
block size     1     2     4     8    16    32    64   128    256    512
----------  ----  ----  ----  ----  ----  ----  ----  ----  -----  -----
waste, %    0.00  0.03  0.16  0.28  0.54  1.53  3.46  5.32  12.08  23.07

prefix reuse: 6 blocks of 512 tokens (4 full), 4 distinct; hits as shares
cache                  any block: of blocks  of tokens  full blocks only: of blocks  of tokens
---------------------  --------------------  ---------  ---------------------------  ---------
infinite                            33.33 %    47.41 %                      33.33 %    47.41 %
LRU, 512 tokens                     16.67 %    23.70 %                      16.67 %    23.70 %
LRU, 1,000,000 tokens               33.33 %    47.41 %                      33.33 %    47.41 %
)");
}

TEST_CASE("every format is recognised, and no line is wider than 100 columns") {
  const std::pair<const char*, const char*> formats[] = {{"azure_2023.csv", "Azure CSV"},
                                                         {"azure_2024.csv", "Azure CSV"},
                                                         {"bailian.jsonl", "Qwen-Bailian"},
                                                         {"burstgpt.csv", "BurstGPT CSV"},
                                                         {"llmservingsim.jsonl", "LLMServingSim"},
                                                         {"plain.csv", "plain CSV"},
                                                         {"vidur.csv", "Vidur CSV"}};
  for (const auto& [file, format] : formats) {
    const auto tried = trace({kTestdata + file});
    CHECK(tried.exit_code == 0);
    CHECK_THAT(tried.out, ContainsSubstring(format));
    std::istringstream lines(tried.out);
    for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 100);
  }
}

TEST_CASE("failed requests are counted and warned of") {
  const Json json = trace_json_of({kTestdata + "burstgpt.csv"});
  CHECK(json["failed_requests"].get<int>() > 0);
  CHECK(json["rows"] == json["requests"].get<int>() + json["failed_requests"].get<int>());
  CHECK_THAT(json_text(json["warnings"]), ContainsSubstring("failed requests (no output tokens)"));
}

TEST_CASE("bad rows end the command, or are skipped and counted") {
  const std::string file = write_trace(
      "bad_rows.csv", "arrival_s,prompt_tokens,output_tokens\n0,10,5\n1,-3,5\n2,10,x\n3,20,5");
  check_refused({file}, file + ":3: field prompt_tokens: expected");
  const auto tried = trace({file, "--on-bad-row", "skip"});
  CHECK(tried.exit_code == 0);
  CHECK_THAT(tried.out, ContainsSubstring("plain CSV, 2 requests in 3.0 s; 2 bad rows skipped"));
  CHECK_THAT(tried.out, ContainsSubstring("warning:"));
  CHECK(trace_json_of({file, "--on-bad-row", "skip"})["skipped_rows"] == 2);
}

TEST_CASE("the flags --limit and --scale-rate reach the trace reader") {
  const std::string file = kTestdata + "mooncake.jsonl";
  CHECK(trace_json_of({file, "--limit", "2"})["requests"] == 2);
  CHECK(trace_json_of({file, "--scale-rate", "2"})["arrivals"]["duration_s"] == 1.5);
}

TEST_CASE("blocks of prefix reuse may be smaller than the blocks of a trace's ids") {
  const Json by_512 = trace_json_of({kTestdata + "mooncake.jsonl"});
  const Json by_16 = trace_json_of({kTestdata + "mooncake.jsonl", "--block-size", "16"});
  CHECK(by_512["prefix_reuse"]["block_size"] == 512);
  CHECK(by_16["prefix_reuse"]["block_size"] == 16);
  CHECK(by_16["prefix_reuse"]["blocks"] == 64 + 7 + 64 + 1);
  CHECK(by_16["prefix_reuse"]["infinite"]["full_blocks_only"]["hit_tokens"] == 1024);
  const Json by_48 = trace_json_of({kTestdata + "mooncake.jsonl", "--block-size", "48"});
  CHECK_THAT(json_text(by_48["warnings"]), ContainsSubstring("--block-size 48 does not divide"));
}

TEST_CASE("a trace without content has no prefix reuse") {
  CHECK(trace_json_of({kTestdata + "plain.csv"})["prefix_reuse"].is_null());
  CHECK_THAT(trace({kTestdata + "plain.csv"}).out, ContainsSubstring("prefix reuse: unknown"));
}

TEST_CASE("bad files and flags end with exit code 2 and their name") {
  const std::string file = kTestdata + "plain.csv";
  check_refused({}, "FILE");
  check_refused({"no/such/trace.csv"}, "no/such/trace.csv");
  check_refused({"sim/traces"}, "sim/traces");
  const std::string header = "arrival_s,prompt_tokens,output_tokens\n";
  check_refused({write_trace("empty", "")}, "empty: is empty: expected a trace");
  check_refused({write_trace("header.csv", header)}, "header.csv: holds no requests");
  check_refused({write_trace("back.csv", header + "2,1,1\n1,1,1\n")},
                "back.csv:3: field arrival_s: time goes backwards");
  check_refused({write_trace("torn.gz", "\x1f\x8b\x08")}, "torn.gz");
  check_refused({write_trace("binary", std::string(100, '\0'))}, "binary:1: is a binary file");
  check_refused({file, "--limit", "0"}, "--limit");
  check_refused({file, "--scale-rate", "0"}, "--scale-rate");
  check_refused({file, "--scale-rate", "fast"}, "--scale-rate");
  check_refused({file, "--on-bad-row", "ignore"}, "--on-bad-row");
  check_refused({file, "--block-size", "0"},
                "--block-size: found '0'; expected an integer from 1 to");
  check_refused({file, "--block-size", "many"}, "--block-size: found 'many'; expected an integer");
  check_refused({""}, "FILE: found ''; expected a file");
  check_refused({file, "--cache-tokens", "1M,many"}, "--cache-tokens: found 'many'; expected");
  check_refused({file, "--colour"}, "--colour");
}

TEST_CASE("help shows every flag and examples") {
  const auto tried = trace({"--help"});
  CHECK(tried.exit_code == 0);
  for (const char* part : {"FILE", "--limit", "--scale-rate", "--on-bad-row", "--block-size",
                           "--cache-tokens", "--json", "Examples:"}) {
    CHECK_THAT(tried.out, ContainsSubstring(part));
  }
}

}  // namespace
}  // namespace recto::experiments
