#include "experiments/support/seed_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "core/contract.h"
#include "experiments/support/parallel.h"
#include "experiments/support/report_json.h"
#include "experiments/support/resolved_run.h"

namespace recto::experiments {
namespace {

using Columns = std::vector<std::pair<std::string, std::string>>;

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// Of requests that the "count" beside it counts: where that is 0, the number is no latency.
bool is_of_no_request(const std::string& name, const Columns& run) {
  if (!name.ends_with("_ns")) return false;
  const std::string count = name.substr(0, name.rfind('.') + 1) + "count";
  const auto found = std::ranges::find(run, count, &Columns::value_type::first);
  return found != run.end() && found->second == "0";
}

}  // namespace

Result<SeedRun> run_seed(const RunConfig& config) {
  Result<RunOutcome> outcome = run(config);
  RECTO_RETURN_IF_ERROR(outcome.status());
  const Result<ResolvedRun> resolved = resolve(config);
  RECTO_RETURN_IF_ERROR(resolved.status());
  const Figures figures = make_figures(outcome.value().report, resolved.value());
  return SeedRun{config, std::move(outcome).value(), figures};
}

Status check_seed_room(const RunConfig& config, int seeds) {
  if (config.seed <= std::numeric_limits<std::int64_t>::max() - seeds) return Status::ok();
  return Status::invalid_input(
      fmt::format("--seed: found {}; expected room for {} more seeds", config.seed, seeds));
}

Result<std::vector<SeedRun>> run_seeds(const RunConfig& config, const SeedOptions& options) {
  RECTO_RETURN_IF_ERROR(check_seed_room(config, options.seeds));
  std::vector<std::optional<Result<SeedRun>>> results(static_cast<std::size_t>(options.seeds));
  for_each_index(results.size(), options.threads, [&](std::size_t index) {
    RunConfig seeded = config;
    seeded.seed += static_cast<std::int64_t>(index);
    results[index] = run_seed(seeded);
  });
  std::vector<SeedRun> runs;
  for (auto& result : results) {
    RECTO_RETURN_IF_ERROR(result->status());
    runs.push_back(std::move(*result).value());
  }
  return runs;
}

std::vector<NamedInterval> intervals_of(const std::vector<SeedRun>& runs) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<Columns> columns;
  for (const SeedRun& run : runs) columns.push_back(flatten(to_json(run.outcome, run.figures)));
  std::vector<NamedInterval> intervals;
  for (std::size_t i = 0; i < columns.front().size(); ++i) {
    const std::string& name = columns.front()[i].first;
    std::vector<double> values;
    for (const Columns& run : columns) {
      if (const std::optional<double> value = number_of(run[i].second)) {
        values.push_back(is_of_no_request(name, run) ? kNone : *value);
      }
    }
    if (values.size() == runs.size()) {
      intervals.push_back({name, mean_with_interval(values), values});
    }
  }
  return intervals;
}

const MeanInterval& find_interval(const std::vector<NamedInterval>& intervals,
                                  std::string_view name) {
  const auto found = std::ranges::find(intervals, name, &NamedInterval::name);
  RECTO_CHECK(found != intervals.end());
  return found->interval;
}

}  // namespace recto::experiments
