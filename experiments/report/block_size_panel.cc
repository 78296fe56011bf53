#include "experiments/report/block_size_panel.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "experiments/report/block_size_advice.h"
#include "experiments/report/report_metrics.h"

namespace recto::experiments {
namespace {

bool has(const Json& metrics, const std::string& name) {
  return metrics.contains(name) && metrics[name].is_number();
}

// The sum of these figures; one that is missing counts as 0.
SeedMean sum(const Json& metrics, std::initializer_list<const char*> names) {
  const auto of = [&](const Json& run) {
    double all = 0;
    for (const char* name : names) all += has(run, name) ? run[name].get<double>() : 0;
    return all;
  };
  SeedMean mean{.mean = of(metrics)};
  for (const Json& seed : metrics.value(kBySeed, Json::array())) {
    mean.by_seed.push_back(of(seed));
  }
  return mean;
}

SeedMean figure(const Json& metrics, const char* name) { return sum(metrics, {name}); }

std::optional<SeedMean> known_figure(const Json& metrics, const char* name) {
  return has(metrics, name) ? std::optional(figure(metrics, name)) : std::nullopt;
}

// The same under every seed.
std::optional<SeedMean> known_kernel_time(const Json& metrics) {
  if (!has(metrics, "kernel_s")) return std::nullopt;
  return SeedMean{.mean = metrics["kernel_s"].get<double>()};
}

}  // namespace

Throughput throughput_of(const std::vector<RunConfig>& configs) {
  const bool has_limits = std::ranges::any_of(configs, [](const RunConfig& config) {
    return config.ttft_limit_ms || config.tpot_limit_ms;
  });
  return has_limits ? Throughput::kGoodput : Throughput::kTokens;
}

BlockSizeFigures figures_of(std::int64_t block_size, const Json& metrics, Throughput throughput) {
  const bool is_goodput = throughput == Throughput::kGoodput;
  return {.block_size = block_size,
          .used = figure(metrics, "used"),
          .waste = sum(metrics, {"reserved", "internal", "overhead"}),
          .prefix_hit = figure(metrics, "prefix_hit"),
          .table_bytes = figure(metrics, "table_bytes"),
          .copied_bytes = figure(metrics, "copied_bytes"),
          .output_per_s = figure(metrics, is_goodput ? "goodput_per_s" : "output_tokens_per_s"),
          .requests_rejected = figure(metrics, "requests_rejected"),
          .requests_finished = figure(metrics, "requests_finished"),
          .s_per_token = known_figure(metrics, "normalized_mean_s"),
          .ttft_p50_s = known_figure(metrics, "ttft_p50_s"),
          .ttft_p99_s = known_figure(metrics, "ttft_p99_s"),
          .tpot_p99_s = known_figure(metrics, "tpot_p99_s"),
          .latency_p99_s = known_figure(metrics, "latency_p99_s"),
          .kernel_s = known_kernel_time(metrics)};
}

Json block_size_panels(const Json& rows, const std::vector<std::string>& families,
                       Throughput throughput, std::int64_t seeds) {
  using Family = std::pair<std::string, std::vector<std::size_t>>;
  std::vector<Family> found;  // in order of appearance
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const bool has_figures = rows[row]["metrics"]["requests_finished"].is_number();
    if (rows[row]["block_size"].is_null() || !has_figures) continue;
    auto family = std::ranges::find(found, families[row], &Family::first);
    if (family == found.end()) family = found.insert(found.end(), {families[row], {}});
    family->second.push_back(row);
  }
  const auto size_of = [&](std::size_t row) { return rows[row]["block_size"].get<std::int64_t>(); };
  Json panels = Json::array();
  for (auto& [family, members] : found) {
    std::ranges::sort(members, {}, size_of);
    std::vector<BlockSizeFigures> figures;
    for (const std::size_t row : members) {
      figures.push_back(figures_of(size_of(row), rows[row]["metrics"], throughput));
    }
    const std::optional<BlockSizeAdvice> advice = advise(figures, seeds);
    if (!advice) continue;
    panels.push_back({{"family", family}, {"rows", members}, {"advice", to_json(*advice)}});
  }
  return panels;
}

}  // namespace recto::experiments
