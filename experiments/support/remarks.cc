#include "experiments/support/remarks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "core/units.h"
#include "experiments/support/numbers.h"
#include "experiments/support/request_source.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/table.h"

namespace recto::experiments {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::size_t kIdsShown = 10;

// The configurations with and without a model's own sliding window.
struct ModelWindow {
  std::string model;
  std::int64_t tokens = 0;
  std::vector<std::string> on;
  std::vector<std::string> off;
};

void note_window(const ResolvedRun& run, std::vector<ModelWindow>& windows) {
  const RunConfig& config = run.config;
  if (!run.model.sliding_window || config.window) return;
  auto found = std::ranges::find(windows, run.model.name, &ModelWindow::model);
  if (found == windows.end()) {
    found = windows.insert(found, {run.model.name, run.model.sliding_window->value(), {}, {}});
  }
  const bool is_on = run.options.scheduler.window > TokenCount(0);
  std::vector<std::string>& places = is_on ? found->on : found->off;
  const std::string place = config.decoding == "single"
                                ? config.allocator
                                : fmt::format("{} with {}", config.allocator, config.decoding);
  if (std::ranges::find(places, place) == places.end()) places.push_back(place);
}

std::string window_remark(const ModelWindow& window) {
  return fmt::format(
      "The sliding window of {}, {} tokens, is {}off for {}: slots of shared blocks outside the "
      "window are not modelled.{}",
      window.model, grouped(window.tokens),
      window.on.empty() ? "" : fmt::format("on for {} and ", fmt::join(window.on, ", ")),
      fmt::join(window.off, ", "), window.on.empty() ? "" : " --window 0 turns it off for all.");
}

// Unknown if the file is gone since the run.
TimeModelFacts facts_of(const std::string& time_model) {
  RunConfig config;
  config.time_model = time_model;
  const Result<TimeModelFacts> facts = time_model_facts(config);
  return facts.is_ok() ? facts.value() : TimeModelFacts();
}

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

// "NVIDIA A100-SXM4-80GB" is A100-80, "NVIDIA L40S" is not L4.
bool is_card(std::string_view driver_name, std::string_view gpu) {
  const std::vector<std::string> driver_words = words_of(driver_name);
  return std::ranges::all_of(words_of(gpu), [&](const std::string& word) {
    return std::ranges::any_of(driver_words, [&](const std::string& other) {
      return other == word || other == word + "gb";
    });
  });
}

// "pool of 15,728 slots (12.00 GiB)"
std::string pool_text(const RunConfig& config, const sim::Report& report) {
  const std::int64_t slots = report.pool_slots.value();
  std::string text = fmt::format("pool of {} slots", grouped(slots));
  const Result<ResolvedRun> run = resolve(config);
  if (!run.is_ok()) return text;  // a model's file that is gone since the run
  const std::int64_t bytes = slots * run.value().options.kv_bytes_per_token.value();
  return text + fmt::format(" ({}{})", bytes_text(static_cast<double>(bytes)),
                            config.tp == 1 ? "" : " on each card");
}

}  // namespace

std::string setting_line(const RunConfig& config, std::string_view model,
                         const sim::Report& report) {
  const std::string decoding = config.decoding == "single" ? "" : ", decoding " + config.decoding;
  return fmt::format("{}, {}{}; {} on {} x {}; {}", workload_name(config),
                     counted(report.counters.requests_arrived, "request"), decoding, model,
                     config.tp, config.gpu, pool_text(config, report));
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
         "Percentiles are midpoints of ranges, at most 0.4 % off even for few requests; maxima are "
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
    return wrapped(fmt::format(
        "Step times: coefficients from {}; its `source` says whether they were measured.",
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

std::vector<std::string> grid_remarks(std::span<const RunConfig> configs) {
  // One run at a time: a grid may have a million.
  std::vector<ModelWindow> windows;
  std::map<std::string, std::set<std::int64_t>> block_sizes;  // by time model
  std::set<std::pair<std::string, std::string>> cards;        // time model, GPU
  for (const RunConfig& config : configs) {
    const Result<ResolvedRun> run = resolve(config);
    if (!run.is_ok()) continue;
    note_window(run.value(), windows);
    if (!is_contiguous(config)) block_sizes[config.time_model].insert(config.block_size);
    cards.insert({config.time_model, run.value().gpu.name});
  }
  std::vector<std::string> remarks;
  for (const ModelWindow& window : windows) {
    if (!window.off.empty()) remarks.push_back(window_remark(window));
  }
  for (const auto& [time_model, sizes] : block_sizes) {
    if (sizes.size() == 1 || facts_of(time_model).knows_blocks) continue;
    remarks.push_back(fmt::format(
        "Step times of {} do not depend on the block size, so that small blocks look free: its "
        "file has no per_kv_block_ns. Compare memory only.",
        time_model));
  }
  for (const auto& [time_model, gpu] : cards) {
    const std::optional<std::string> card = facts_of(time_model).measured_on;
    if (!card || is_card(*card, gpu)) continue;
    remarks.push_back(
        fmt::format("WARNING: two cards in one run: --time-model {} was measured on '{}', while "
                    "memory and links are those of --gpu {}.",
                    time_model, *card, gpu));
  }
  return remarks;
}

}  // namespace recto::experiments
