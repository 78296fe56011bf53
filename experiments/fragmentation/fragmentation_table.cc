#include "experiments/fragmentation/fragmentation_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "experiments/support/numbers.h"
#include "experiments/support/remarks.h"
#include "experiments/support/state_bar.h"
#include "experiments/support/table.h"

namespace recto::experiments {
namespace {

constexpr std::string_view kStates[] = {"used",   "reserved", "internal",
                                        "cached", "free",     "overhead"};

// The confidence intervals of means over several seeds; empty for one seed.
std::string seeds_note(const std::vector<FragmentationRow>& rows) {
  const std::size_t seeds = rows.front().runs.size();
  if (seeds == 1) return "";
  double widest = -1;
  std::string where;
  for (const FragmentationRow& row : rows) {
    for (const std::string_view state : kStates) {
      const std::string name = "figures.mean_shares." + std::string(state);
      const double half_width = find_interval(row.intervals, name).half_width;
      if (half_width <= widest) continue;
      widest = half_width;
      where = fmt::format("{} of {}", state, row.label());
    }
  }
  return wrapped(
      fmt::format("Figures, percentiles too, are means over {} seeds, from {} on; shares of the "
                  "pool are within +-{:.2f} points ({}) with 95 % confidence, by Student's t.",
                  seeds, rows.front().config.seed, 100 * widest, where));
}

// For the first seed under which anything was rejected.
std::string rejected_note(const FragmentationRow& row) {
  for (const RunOutcome& run : row.runs) {
    const std::string label = row.runs.size() == 1
                                  ? row.label()
                                  : fmt::format("{}, seed {}", row.label(), run.config.seed);
    const std::string remark = rejected_remark(run.report, label);
    if (!remark.empty()) return remark;
  }
  return "";
}

bool has_served(const RunOutcome& run) { return run.report.counters.requests_finished > 0; }

bool is_drained(const RunOutcome& run) { return has_served(run) && run.report.covers_drain; }

// The part of the runs that the means cover, and the rows with another part. Runs that served
// nothing have no means.
std::string coverage_note(const std::vector<FragmentationRow>& rows) {
  std::vector<std::string> drained_rows;
  std::int64_t served_runs = 0;
  std::int64_t drained_runs = 0;
  for (const FragmentationRow& row : rows) {
    const std::int64_t served = std::ranges::count_if(row.runs, has_served);
    const std::int64_t drained = std::ranges::count_if(row.runs, is_drained);
    served_runs += served;
    drained_runs += drained;
    if (drained == 0) continue;
    const std::string some =
        drained == served ? "" : fmt::format(" ({} of {} seeds)", drained, served);
    drained_rows.push_back(row.label() + some);
  }
  if (served_runs == 0) return "";
  if (drained_runs == served_runs) return means_remark(Coverage::kWithDrain);
  const std::string text = means_remark(Coverage::kArrivals);
  if (drained_rows.empty()) return text;
  return text +
         wrapped(fmt::format(
             "Those of {} extend to the last answer: nothing arrived after the first admission.",
             fmt::join(drained_rows, ", ")));
}

// The period of the means, the cited figures, and what was rejected or left out, in lines of at
// most 100 columns.
std::string fragmentation_notes(const std::vector<FragmentationRow>& rows) {
  std::string text = seeds_note(rows);
  text += coverage_note(rows);
  text += provenance_remark(rows.front().config);
  for (const std::string& remark : grid_remarks(configs_of(rows))) text += wrapped(remark);
  for (const FragmentationRow& row : rows) text += rejected_note(row);
  // All runs have the same trace.
  text += trace_remark(rows.front().runs.front());
  return text;
}

constexpr std::size_t kStateBarColumns = 20;
constexpr std::size_t kPaperBarColumns = 16;

std::string pool_line(const FragmentationRow& row) {
  const RunConfig& config = row.config;
  const std::string& model = config.model_file.empty() ? config.model : config.model_file;
  return wrapped(setting_line(config, model, row.first_report()));
}

std::vector<std::string> name_cells(const FragmentationRow& row) {
  return {row.config.allocator, row.block_text()};
}

std::string states_table(const std::vector<FragmentationRow>& rows, const Terminal& terminal) {
  Table table({{"allocator", Align::kLeft},
               {"block"},
               {"the pool", Align::kLeft},
               {"used"},
               {"reserved"},
               {"internal"},
               {"cached"},
               {"free"},
               {"overhead"}});
  for (const FragmentationRow& row : rows) {
    const PoolShares shares = row.mean_shares();
    std::vector<std::string> cells = name_cells(row);
    cells.push_back(state_bar(shares, kStateBarColumns, terminal));
    for (const double share : {shares.used, shares.reserved, shares.internal(), shares.cached,
                               shares.free, shares.overhead}) {
      cells.push_back(percent(share));
    }
    table.add_row(std::move(cells));
  }
  return "Where every KV slot was: mean share of the pool, %\n\n" + table.text() + '\n' +
         state_legend(terminal) + '\n';
}

std::string paper_table(const std::vector<FragmentationRow>& rows, const Terminal& terminal) {
  Table table({{"allocator", Align::kLeft},
               {"block"},
               {"the pool", Align::kLeft},
               {"tokens"},
               {"reserved"},
               {"internal"},
               {"external"},
               {"held used"},
               {"batch"}});
  for (const FragmentationRow& row : rows) {
    const PaperShares shares = paper_shares(row.mean_shares());
    std::vector<std::string> cells = name_cells(row);
    cells.push_back(state_bar(shares, kPaperBarColumns, terminal));
    for (const double share :
         {shares.token_states, shares.reservation, shares.internal_fragmentation,
          shares.external_and_others, row.mean("figures.used_of_held")}) {
      cells.push_back(percent(share));
    }
    cells.push_back(fmt::format("{:.2f}", row.mean("report.gauges.running_requests.mean")));
    table.add_row(std::move(cells));
  }
  return "As in Fig. 2 of the PagedAttention paper: mean share of the pool, %\n\n" + table.text() +
         '\n' + paper_legend(terminal) +
         "\nExternal and others = pool - used - reserved - over-reservation - tail of the last "
         "block; rounding\nby the placement policy is part of it.\n";
}

// A count under one seed, a mean of counts under several.
std::string preemptions_text(const FragmentationRow& row) {
  const double preemptions = row.mean("report.counters.preemptions_recompute") +
                             row.mean("report.counters.preemptions_swap");
  return row.runs.size() == 1 && preemptions < 100'000 ? fmt::format("{:.0f}", preemptions)
                                                       : compact_number(preemptions);
}

std::string service_table(const std::vector<FragmentationRow>& rows) {
  Table table({{"allocator", Align::kLeft},
               {"block"},
               {"batch"},
               {"queue"},
               {"blocked"},
               {"no hole"},
               {"preempts"},
               {"tok/s"},
               {"TTFT"},
               {"p99"},
               {"ms/token"}});
  for (const FragmentationRow& row : rows) {
    const auto pool = static_cast<double>(row.first_report().pool_slots.value());
    std::vector<std::string> cells = name_cells(row);
    cells.push_back(compact_number(row.mean("report.gauges.running_requests.mean")));
    cells.push_back(compact_number(row.mean("report.gauges.waiting_requests.mean")));
    cells.push_back(percent(row.mean("report.gauges.blocked_free_slots.mean") / pool));
    cells.push_back(percent(row.mean("report.gauges.unplaceable_free_slots.mean") / pool));
    cells.push_back(preemptions_text(row));
    cells.push_back(compact_number(row.mean("figures.output_tokens_per_s")));
    // An allocator that served no request has no latency: "-".
    cells.push_back(compact_number(row.mean("report.ttft.p50_ns") / 1e9));
    cells.push_back(compact_number(row.mean("report.ttft.p99_ns") / 1e9));
    cells.push_back(compact_number(row.mean("report.normalized.mean_ns") / 1e6));
    table.add_row(std::move(cells));
  }
  return "Effects\n\n" + table.text() +
         "\nbatch, queue: requests, mean. blocked: free slots, % of the pool, while the head of "
         "the queue does\nnot fit; no hole: the part that is enough in total but in no single "
         "place. tok/s: output tokens.\nTTFT: time to first token in s, median and p99. ms/token: "
         "end to end / output tokens, mean.\n";
}

}  // namespace

std::string fragmentation_text(const std::vector<FragmentationRow>& rows, FragmentationView view,
                               const Terminal& terminal) {
  std::string text = pool_line(rows.front()) + '\n';
  text += view == FragmentationView::kPaper ? paper_table(rows, terminal)
                                            : states_table(rows, terminal);
  text += '\n' + service_table(rows) + '\n' + fragmentation_notes(rows);
  return text;
}

}  // namespace recto::experiments
