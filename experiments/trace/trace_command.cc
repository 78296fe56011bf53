#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "experiments/support/command.h"
#include "experiments/support/numbers.h"
#include "experiments/support/remarks.h"
#include "experiments/support/table.h"
#include "experiments/trace/trace_report.h"
#include "sim/traces/trace_reader.h"

namespace recto::experiments {
namespace {

Json lengths_json(const sim::LengthFigures& lengths) {
  return {{"total", lengths.sum.value()}, {"mean", lengths.mean},
          {"p50", lengths.p50.value()},   {"p90", lengths.p90.value()},
          {"p99", lengths.p99.value()},   {"max", lengths.max.value()}};
}

Json or_null(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }

Json arrivals_json(const TraceReport& report) {
  const sim::ArrivalFigures& arrivals = report.summary.arrivals;
  return {{"duration_s", seconds(arrivals.duration)},
          {"mean_per_second", or_null(arrivals.mean_per_second)},
          {"peak_per_second", arrivals.peak_per_second},
          {"peak_per_minute", arrivals.peak_per_minute},
          {"gap_variation", or_null(arrivals.gap_variation)},
          {"equal_arrivals", report.equal_arrivals}};
}

Json tail_waste_json(const TraceReport& report) {
  Json rows = Json::array();
  for (const sim::TailWaste& waste : report.summary.tail_waste) {
    rows.push_back({{"block_size", waste.block_size.value()},
                    {"allocated_slots", waste.allocated.value()},
                    {"padding_slots", waste.padding.value()},
                    {"share", waste.share()}});
  }
  return rows;
}

Json lru_json(const TraceReport& report) {
  const sim::PrefixReuseFigures& all = *report.summary.prefix_reuse;
  const LruShares shares(report);
  Json rows = Json::array();
  for (std::size_t i = 0; i < all.lru.size(); ++i) {
    rows.push_back({{"cache_tokens", all.lru[i].capacity.value()},
                    {"with_partial_blocks",
                     {{"hit_blocks", all.lru[i].hit_blocks},
                      {"block_share", shares.all(i)},
                      {"hit_tokens", all.lru[i].hit_tokens.value()},
                      {"token_share", shares.all_of_tokens(i)}}},
                    {"full_blocks_only",
                     {{"hit_blocks", report.full_blocks_reuse->lru[i].hit_blocks},
                      {"block_share", shares.full_of_blocks(i)},
                      {"token_share", shares.full_of_tokens(i)}}}});
  }
  return rows;
}

Json prefix_reuse_json(const TraceReport& report) {
  if (!report.summary.prefix_reuse) return nullptr;
  const sim::PrefixReuseFigures& reuse = *report.summary.prefix_reuse;
  const Json with_partial = {{"hit_blocks", reuse.hit_blocks},
                             {"block_share", reuse.hit_block_share()},
                             {"hit_tokens", reuse.hit_tokens.value()},
                             {"token_share", reuse.hit_token_share()}};
  const Json full_only = {{"hit_blocks", reuse.full_hit_blocks},
                          {"block_share", reuse.full_hit_block_share()},
                          {"hit_tokens", reuse.full_hit_tokens.value()},
                          {"token_share", reuse.full_hit_token_share()}};
  return {
      {"block_size", report.block_size.value()},
      {"requests", reuse.requests},
      {"prompt_tokens", reuse.prompt_tokens.value()},
      {"blocks", reuse.blocks},
      {"full_blocks", reuse.full_blocks},
      {"distinct_blocks", reuse.distinct_blocks},
      {"infinite", {{"with_partial_blocks", with_partial}, {"full_blocks_only", full_only}}},
      {"lru", lru_json(report)},
  };
}

// All figures in full precision; shares lie within 0 and 1. `prefix_reuse` is null for a trace
// without token contents.
Json trace_json(const TraceReport& report) {
  const sim::TraceCounters& counters = report.counters;
  return {
      {"file", report.name},
      {"format", sim::format_name(report.format)},
      {"rows", counters.rows},
      {"requests", counters.requests},
      {"failed_requests", counters.failed_requests},
      {"skipped_rows", counters.skipped_rows},
      {"skip_messages", counters.skip_messages},
      {"text_bytes", counters.text_bytes},
      {"prompt_tokens", lengths_json(report.summary.prompt)},
      {"output_tokens", lengths_json(report.summary.output)},
      {"arrivals", arrivals_json(report)},
      {"tail_waste", tail_waste_json(report)},
      {"prefix_reuse", prefix_reuse_json(report)},
      {"warnings", report.warnings},
  };
}

std::string percent_2(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string heading(const TraceReport& report) {
  const sim::TraceCounters& counters = report.counters;
  std::string text =
      fmt::format("{}\n{}, {} in {:.1f} s", report.name, sim::format_name(report.format),
                  counted(counters.requests, "request"), seconds(report.summary.arrivals.duration));
  if (counters.failed_requests > 0) {
    text += fmt::format("; {} failed and left out", grouped(counters.failed_requests));
  }
  if (counters.skipped_rows > 0) {
    text += fmt::format("; {} skipped", counted(counters.skipped_rows, "bad row"));
  }
  return text + "\n\n";
}

std::string lengths_text(const TraceReport& report) {
  Table table({{"tokens", Align::kLeft}, {"total"}, {"mean"}, {"p50"}, {"p90"}, {"p99"}, {"max"}});
  const auto add = [&](const char* name, const sim::LengthFigures& lengths) {
    table.add_row({name, grouped(lengths.sum.value()), fmt::format("{:.1f}", lengths.mean),
                   grouped(lengths.p50.value()), grouped(lengths.p90.value()),
                   grouped(lengths.p99.value()), grouped(lengths.max.value())});
  };
  add("prompt", report.summary.prompt);
  add("output", report.summary.output);
  return table.text() + "\n";
}

std::string arrivals_text(const sim::ArrivalFigures& arrivals) {
  std::string text = "arrivals\n";
  text += arrivals.mean_per_second
              ? fmt::format("  mean {} per second", short_number(*arrivals.mean_per_second))
              : std::string("  all at once");
  text += fmt::format("; at most {} within one second, {} within one minute\n",
                      grouped(arrivals.peak_per_second), grouped(arrivals.peak_per_minute));
  if (arrivals.gap_variation) {
    text += fmt::format("  coefficient of variation of the gaps {:.2f} (1 for Poisson arrivals)\n",
                        *arrivals.gap_variation);
  }
  return text + "\n";
}

std::string tail_waste_text(const std::vector<sim::TailWaste>& tail_waste) {
  std::vector<TableColumn> columns{{"block size", Align::kLeft}};
  std::vector<std::string> row{"waste, %"};
  for (const sim::TailWaste& waste : tail_waste) {
    columns.push_back({std::to_string(waste.block_size.value())});
    row.push_back(fmt::format("{:.2f}", 100 * waste.share()));
  }
  Table table(std::move(columns));
  table.add_row(std::move(row));
  return "tail waste, if each request were paged alone, at its end: padding over allocated "
         "slots\n" +
         table.text() + "\n";
}

std::string prefix_reuse_text(const TraceReport& report) {
  if (!report.summary.prefix_reuse) {
    return "prefix reuse: unknown, as the trace does not say what its tokens are\n";
  }
  const sim::PrefixReuseFigures& reuse = *report.summary.prefix_reuse;
  Table table({{"cache", Align::kLeft},
               {"any block: of blocks"},
               {"of tokens"},
               {"full blocks only: of blocks"},
               {"of tokens"}});
  table.add_row({"infinite", percent_2(reuse.hit_block_share()), percent_2(reuse.hit_token_share()),
                 percent_2(reuse.full_hit_block_share()), percent_2(reuse.full_hit_token_share())});
  const LruShares shares(report);
  for (std::size_t i = 0; i < reuse.lru.size(); ++i) {
    table.add_row({fmt::format("LRU, {} tokens", grouped(reuse.lru[i].capacity.value())),
                   percent_2(shares.all(i)), percent_2(shares.all_of_tokens(i)),
                   percent_2(shares.full_of_blocks(i)), percent_2(shares.full_of_tokens(i))});
  }
  return fmt::format("prefix reuse: {} of {} tokens ({} full), {} distinct; hits as shares\n",
                     counted(reuse.blocks, "block"), report.block_size.value(),
                     grouped(reuse.full_blocks), grouped(reuse.distinct_blocks)) +
         table.text();
}

std::string warnings_text(const std::vector<std::string>& warnings) {
  std::string text;
  for (const std::string& warning : warnings) text += "\n" + wrapped("warning: " + warning);
  return text;
}

// For the terminal, at most 100 columns wide (the file's name apart).
std::string trace_text(const TraceReport& report) {
  return heading(report) + lengths_text(report) + arrivals_text(report.summary.arrivals) +
         tail_waste_text(report.summary.tail_waste) + prefix_reuse_text(report) +
         warnings_text(report.warnings);
}

constexpr const char* kFooter = R"(
FILE may be Azure, BurstGPT, Vidur or plain CSV, or Mooncake, Qwen-Bailian or LLMServingSim JSON
lines, plain or gzip; the format is detected from the content.

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
  Command command("trace", "describe a trace");
  command.add("FILE", nonempty_text(arguments->path, "a file"), "the trace");
  command.add("--limit N", integer(arguments->trace.limit, {1, 1'000'000'000}),
              "only the first N requests");
  command.add("--scale-rate FACTOR", number(arguments->trace.scale_rate, {1e-6, 1e6}),
              "how many times faster requests arrive [1]");
  command.add("--on-bad-row fail|skip", one_of(arguments->on_bad_row, {"fail", "skip"}),
              "what to do with a bad row [fail]");
  command.add("--block-size TOKENS",
              integer(arguments->block_size, {1, kReuseBlockSizeMax.value()}),
              "blocks of prefix reuse [what an id of the trace stands for, or 16]");
  command.add("--cache-tokens LIST", any_text(arguments->cache_tokens),
              "sizes of LRU prefix caches [1M,3M,10M,50M]");
  command.add("--json", flag(arguments->is_json), "print JSON");
  command.footer = kFooter;
  command.run = [arguments](CommandContext& context) { return show_trace(*arguments, context); };
  return command;
}

}  // namespace recto::experiments
