#include "experiments/support/command.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "experiments/support/numbers.h"
#include "experiments/trace/token_count.h"
#include "experiments/trace/trace_json.h"
#include "experiments/trace/trace_report.h"
#include "experiments/trace/trace_text.h"
#include "sim/traces/trace_reader.h"

namespace recto::experiments {
namespace {

constexpr const char* kFooter = R"(
FILE may be Azure, BurstGPT, Vidur or plain CSV, or Mooncake, Qwen-Bailian or LLMServingSim JSON
lines, plain or gzip; the format is told from the content.

Examples:
  recto trace azure-llm-2023-conv.csv
  recto trace conversation.jsonl --cache-tokens 1M,3M,10M,50M
  recto trace burstgpt.csv.gz --on-bad-row skip --limit 10000 --json)";

struct TraceArguments {
  std::string path;
  sim::TraceOptions trace;
  std::string on_bad_row = "fail";
  std::optional<std::int64_t> block_size;
  std::vector<std::string> cache_tokens;
  bool is_json = false;
};

Result<TraceReportOptions> report_options(const TraceArguments& arguments) {
  TraceReportOptions options;
  if (arguments.block_size) options.block_size = TokenCount(*arguments.block_size);
  const Result<std::vector<std::string>> sizes = split_lists(arguments.cache_tokens);
  RECTO_RETURN_IF_ERROR(sizes.status().in("--cache-tokens"));
  if (!sizes.value().empty()) options.cache_tokens.clear();
  for (const std::string& text : sizes.value()) {
    const Result<TokenCount> tokens = parse_token_count(text);
    RECTO_RETURN_IF_ERROR(tokens.status().in("--cache-tokens"));
    options.cache_tokens.push_back(tokens.value());
  }
  return options;
}

Status show_trace(const TraceArguments& arguments, CommandContext& context) {
  const Result<TraceReportOptions> options = report_options(arguments);
  RECTO_RETURN_IF_ERROR(options.status());
  sim::TraceOptions trace_options = arguments.trace;
  trace_options.on_bad_row =
      arguments.on_bad_row == "skip" ? sim::OnBadRow::kSkip : sim::OnBadRow::kFail;
  const auto trace = sim::open_trace(arguments.path, trace_options);
  RECTO_RETURN_IF_ERROR(trace.status());
  const Result<TraceReport> report = report_trace(*trace.value(), options.value());
  RECTO_RETURN_IF_ERROR(report.status());
  if (arguments.is_json) {
    context.out << json_text(trace_json(report.value()), 2) << '\n';
  } else {
    context.out << trace_text(report.value());
  }
  return Status::ok();
}

}  // namespace

Command trace_command() {
  auto arguments = std::make_shared<TraceArguments>();
  Command command("trace", "tell what is in a trace");
  command.add("FILE", nonempty_text(arguments->path, "a file"), "the trace");
  command.add("--limit N", integer(arguments->trace.limit, {1, 1'000'000'000}),
              "only the first N requests");
  command.add("--scale-rate FACTOR", number(arguments->trace.scale_rate, {1e-6, 1e6}),
              "arrivals come so many times as fast [1]");
  command.add("--on-bad-row fail|skip", one_of(arguments->on_bad_row, {"fail", "skip"}),
              "what to do with a bad row [fail]");
  command.add("--block-size TOKENS",
              integer(arguments->block_size, {1, kReuseBlockSizeMax.value()}),
              "blocks of prefix reuse [what an id of the trace stands for, or 16]");
  command.add("--cache-tokens LIST", any_text(arguments->cache_tokens),
              "sizes of LRU prefix caches [1M,3M,10M,50M]");
  command.add("--json", flag(arguments->is_json), "for machines");
  command.footer = kFooter;
  command.run = [arguments](CommandContext& context) { return show_trace(*arguments, context); };
  return command;
}

}  // namespace recto::experiments
