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

MeanInterval interval(const Json& metrics, const std::string& name) {
  return {.mean = number(metrics, name), .half_width = number(metrics, name + "_ci95")};
}

// The interval of a sum is at most as wide as the sum of its parts' ones.
MeanInterval sum(const Json& metrics, std::initializer_list<const char*> names) {
  MeanInterval all;
  for (const char* name : names) {
    const MeanInterval one = interval(metrics, name);
    all.mean += one.mean;
    all.half_width += one.half_width;
  }
  return all;
}

}  // namespace

BlockSizeFigures figures_of(std::int64_t block_size, const Json& metrics, Throughput throughput) {
  const bool is_goodput = throughput == Throughput::kGoodput;
  const bool is_measured = metrics.contains("kernel_s") && metrics["kernel_s"].is_number();
  return {.block_size = block_size,
          .waste = sum(metrics, {"reserved", "internal", "overhead"}),
          .prefix_hit = interval(metrics, "prefix_hit"),
          .table_bytes = interval(metrics, "table_bytes"),
          .copied_bytes = interval(metrics, "copied_bytes"),
          .output_per_s = interval(metrics, is_goodput ? "goodput_per_s" : "output_tokens_per_s"),
          .s_per_token = interval(metrics, "normalized_mean_s"),
          .requests_rejected = interval(metrics, "requests_rejected"),
          .requests_finished = interval(metrics, "requests_finished"),
          .ttft_p50_s = interval(metrics, "ttft_p50_s"),
          .ttft_p99_s = interval(metrics, "ttft_p99_s"),
          .tpot_p99_s = interval(metrics, "tpot_p99_s"),
          .latency_p99_s = interval(metrics, "latency_p99_s"),
          .kernel_s = is_measured ? std::optional(interval(metrics, "kernel_s")) : std::nullopt};
}

void BlockSizePanels::add(const std::string& family, std::int64_t block_size, std::size_t row,
                          const Json& metrics) {
  if (!metrics["normalized_mean_s"].is_number() || number(metrics, "requests_finished") <= 0) {
    return;
  }
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
