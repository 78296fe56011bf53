// The output of `recto trace` for the public traces, compared with their known figures.

#include <string>

#include "bazel/testing/catch.h"
#include "experiments/support/command.h"
#include "experiments/support/testing/tried_command.h"
#include "sim/traces/real_traces.h"

namespace recto::experiments {
namespace {

// Blanks between the words of a table are its layout, not its content.
std::string trace_words(const std::string& path) {
  const auto tried = testing::try_command(trace_command, {"trace", path});
  CHECK(tried.exit_code == 0);
  std::string words;
  for (const char c : tried.out) {
    if (c != ' ' || words.empty() || words.back() != ' ') words += c;
  }
  return words;
}

void check_has(const std::string& text, std::initializer_list<const char*> parts) {
  INFO(text);
  for (const char* part : parts) {
    INFO(part);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("the report on the Azure conversation trace has the recorded figures") {
  const auto path = recto::testing::find_real_trace("azure-llm-2023-conv.csv");
  if (!path) RECTO_SKIP(recto::testing::kNoRealTrace);
  check_has(trace_words(*path),
            {"Azure CSV, 19,366 requests in 3501.7 s", "prompt 22,361,870 1154.7 1,020 2,735",
             "14,050", "output 4,088,665 211.1 129 424", "1,000", "mean 5.53 per second",
             "block size 1 2 4 8 16 32 64 128 256 512", "0.26 0.54 1.12 2.21 4.38 8.02",
             "prefix reuse: unknown"});
}

TEST_CASE("the report on the Mooncake conversation trace has the recorded figures") {
  const auto path = recto::testing::find_real_trace("mooncake-fast25-conversation.jsonl");
  if (!path) RECTO_SKIP(recto::testing::kNoRealTrace);
  check_has(trace_words(*path),
            {"Mooncake JSONL, 12,031 requests in 3537.0 s", "12035.1 6,909", "85,401 126,195",
             "342.6", "288,500 blocks of 512 tokens (276,491 full), 182,790 distinct",
             "infinite 36.64 % 37.36 % 36.60 % 37.34 %", "LRU, 1,000,000 tokens 5.33 %",
             "LRU, 3,000,000 tokens 13.61 %", "LRU, 10,000,000 tokens 28.52 %",
             "LRU, 50,000,000 tokens 36.35 %",
             "10851 of 12031 requests arrive at the same time as the one before"});
}

TEST_CASE("the report on the ShareGPT workload with token ids has the recorded figures") {
  const auto path = recto::testing::find_real_trace("sharegpt-llama31-8b-300.jsonl");
  if (!path) RECTO_SKIP(recto::testing::kNoRealTrace);
  check_has(trace_words(*path),
            {"LLMServingSim JSONL, 300 requests in 29.1 s", "prompt 257,239 857.5", "3,998",
             "output 195,753 652.5", "1,021", "blocks of 16 tokens", "infinite 7.65 %"});
}

}  // namespace
}  // namespace recto::experiments
