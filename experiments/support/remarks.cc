#include "experiments/support/remarks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "experiments/support/numbers.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/table.h"

namespace recto::experiments {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kIdsShown = 10;

}  // namespace

std::string pool_text(const RunConfig& config, const sim::Report& report) {
  const std::int64_t slots = report.pool_slots.value();
  std::string text = fmt::format("pool of {} slots", grouped(slots));
  const Result<ResolvedRun> run = resolve(config);
  if (!run.is_ok()) return text;  // a file of the model that is gone since the run
  const std::int64_t bytes = slots * run.value().options.kv_bytes_per_token.value();
  return text + fmt::format(" ({}{})", bytes_text(static_cast<double>(bytes)),
                            config.tp == 1 ? "" : " on each card");
}

Coverage coverage_of(const sim::Report& report) {
  return report.covers_drain ? Coverage::kWithDrain : Coverage::kArrivals;
}

std::string means_remark(Coverage coverage) {
  if (coverage == Coverage::kArrivals) {
    return "Means are time-weighted from the first admission to the last arrival; the drain is "
           "left "
           "out.\n";
  }
  return "Means are time-weighted from the first admission to the last answer: nothing arrived "
         "after the\n  first admission.\n";
}

std::string means_remark(const sim::Report& report) {
  const auto text = [](SimDuration duration) {
    return duration_text(static_cast<double>(duration.value()));
  };
  return means_remark(coverage_of(report)) +
         fmt::format("  They cover {} of the {} from the first arrival to the last answer.\n",
                     text(report.covered), text(report.makespan)) +
         "Percentiles are middles of ranges, at most 0.4 % off, of few requests too; maxima are "
         "exact.\n";
}

Status check_any_served(const sim::Report& report) {
  if (report.counters.requests_arrived == 0 || report.counters.requests_finished > 0) {
    return Status::ok();
  }
  return Status::failed(fmt::format(
      "no request was served: all {} were rejected, because they are longer than --max-length or "
      "than the pool; expected a --model with a longer context, or more memory",
      grouped(report.counters.requests_arrived)));
}

std::string provenance_remark(const RunConfig& config) {
  if (config.time_model.starts_with("measured:")) {
    return wrapped(fmt::format(
        "Step times: attention, copies and products as measured on {}; launches and links are "
        "cited.",
        config.time_model.substr(config.time_model.find(':') + 1)));
  }
  if (config.time_model != "roofline") {
    return wrapped(
        fmt::format("Step times: coefficients from {}; whether they were measured, its `source` "
                    "says.",
                    config.time_model.substr(config.time_model.find(':') + 1)));
  }
  return wrapped(fmt::format(
      "Step times: roofline; its constants and the attention curve '{}' are cited, not measured on "
      "this card.",
      config.attention_curve));
}

std::string rejected_remark(const sim::Report& report, std::string_view label) {
  const sim::Counters& counters = report.counters;
  if (counters.requests_rejected == 0) return "";
  const std::string who = label.empty() ? "" : fmt::format("{}: ", label);
  const bool all = counters.requests_rejected == counters.requests_arrived;
  const std::size_t shown = std::min(report.rejected_ids.size(), kIdsShown);
  const std::vector<std::int64_t> ids(report.rejected_ids.begin(),
                                      report.rejected_ids.begin() + static_cast<long>(shown));
  const bool more = counters.requests_rejected > static_cast<std::int64_t>(shown);
  return wrapped(fmt::format(
      "{}{} of {} requests rejected, because they can never fit{}; ids {}{}", who,
      all ? "ALL " + grouped(counters.requests_rejected) : grouped(counters.requests_rejected),
      grouped(counters.requests_arrived),
      all ? " (longer than --max-length, or than the pool): nothing was simulated" : "",
      fmt::join(ids, ", "), more ? ", ..." : ""));
}

std::string trace_remark(const RunOutcome& outcome) {
  std::string text;
  for (const std::string& warning : outcome.warnings) text += wrapped("Trace: " + warning);
  return text;
}

std::string wrapped(std::string_view text) {
  std::string result;
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    const bool is_first = line.find_first_not_of(' ') == std::string::npos;
    if (!is_first && display_width(line) + 1 + display_width(word) > kColumns) {
      result += line + '\n';
      line = "  ";
      line += word;
    } else {
      if (!is_first) line += ' ';
      line += word;
    }
    begin = end + 1;
  }
  return result + line + '\n';
}

}  // namespace recto::experiments
