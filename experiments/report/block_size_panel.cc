#include "experiments/report/block_size_panel.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "experiments/report/block_size_advice.h"

namespace recto::experiments {
namespace {

double number(const Json& metrics, const std::string& name) {
  return metrics.contains(name) && metrics[name].is_number() ? metrics[name].get<double>() : 0;
}

double sum_of(const Json& metrics, std::initializer_list<const char*> names) {
  double sum = 0;
  for (const char* name : names) sum += number(metrics, name);
  return sum;
}

// The sum of these figures.
SeedMean sum(const Json& metrics, std::initializer_list<const char*> names) {
  SeedMean all{.mean = sum_of(metrics, names)};
  if (!metrics.contains(kBySeed)) return all;
  for (const Json& seed : metrics[kBySeed]) all.by_seed.push_back(sum_of(seed, names));
  return all;
}

SeedMean figure(const Json& metrics, const char* name) { return sum(metrics, {name}); }

std::optional<SeedMean> known_figure(const Json& metrics, const char* name) {
  if (!metrics.contains(name) || !metrics[name].is_number()) return std::nullopt;
  return figure(metrics, name);
}

// The same under every seed.
std::optional<SeedMean> known_kernel_time(const Json& metrics) {
  if (!metrics.contains("kernel_s") || !metrics["kernel_s"].is_number()) return std::nullopt;
  return SeedMean{.mean = metrics["kernel_s"].get<double>()};
}

}  // namespace

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

void BlockSizePanels::add(const std::string& family, std::int64_t block_size, std::size_t row,
                          const Json& metrics) {
  if (!metrics["requests_finished"].is_number()) return;
  auto found =
      std::ranges::find(families_, family, &std::pair<std::string, std::vector<Entry>>::first);
  if (found == families_.end()) found = families_.insert(families_.end(), {family, {}});
  found->second.push_back({block_size, row, metrics});
}

Json BlockSizePanels::json(Throughput throughput, std::int64_t seeds) const {
  Json panels = Json::array();
  for (const auto& [family, unsorted] : families_) {
    std::vector<Entry> entries = unsorted;
    std::ranges::sort(entries, {}, &Entry::block_size);
    std::vector<BlockSizeFigures> figures;
    Json rows = Json::array();
    for (const Entry& entry : entries) {
      figures.push_back(figures_of(entry.block_size, entry.metrics, throughput));
      rows.push_back(entry.row);
    }
    const std::optional<BlockSizeAdvice> advice = advise(figures, seeds);
    if (!advice) continue;
    panels.push_back({{"family", family}, {"rows", rows}, {"advice", to_json(*advice)}});
  }
  return panels;
}

}  // namespace recto::experiments
