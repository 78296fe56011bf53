#include "experiments/trace/trace_text.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "experiments/support/numbers.h"
#include "experiments/support/remarks.h"
#include "experiments/support/table.h"

namespace recto::experiments {
namespace {

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

}  // namespace

std::string trace_text(const TraceReport& report) {
  return heading(report) + lengths_text(report) + arrivals_text(report.summary.arrivals) +
         tail_waste_text(report.summary.tail_waste) + prefix_reuse_text(report) +
         warnings_text(report.warnings);
}

}  // namespace recto::experiments
