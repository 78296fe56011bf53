#include "experiments/report/block_size_panel.h"

#include <algorithm>
#include <optional>

#include "experiments/report/block_size_advice.h"

namespace recto::experiments {
namespace {

double number(const Json& metrics, const char* name) {
  return metrics.contains(name) && metrics[name].is_number() ? metrics[name].get<double>() : 0;
}

BlockSizeFigures figures_of(std::int64_t block_size, const Json& metrics, Throughput throughput) {
  const bool is_goodput = throughput == Throughput::kGoodput;
  return {.block_size = block_size,
          .waste = number(metrics, "reserved") + number(metrics, "internal") +
                   number(metrics, "overhead"),
          .prefix_hit = number(metrics, "prefix_hit"),
          .table_bytes = number(metrics, "table_bytes"),
          .copied_bytes = number(metrics, "copied_bytes"),
          .output_per_s = number(metrics, is_goodput ? "goodput_per_s" : "output_tokens_per_s"),
          .s_per_token = number(metrics, "normalized_mean_s"),
          .requests_rejected = number(metrics, "requests_rejected"),
          .kernel_s = metrics.contains("kernel_s") && metrics["kernel_s"].is_number()
                          ? std::optional(metrics["kernel_s"].get<double>())
                          : std::nullopt};
}

}  // namespace

void BlockSizePanels::add(const std::string& family, std::int64_t block_size, std::size_t row,
                          const Json& metrics) {
  if (!metrics["normalized_mean_s"].is_number()) return;
  auto found =
      std::ranges::find(families_, family, &std::pair<std::string, std::vector<Entry>>::first);
  if (found == families_.end()) found = families_.insert(families_.end(), {family, {}});
  found->second.push_back({block_size, row, metrics});
}

Json BlockSizePanels::json(Throughput throughput) const {
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
    const std::optional<BlockSizeAdvice> advice = advise(figures);
    if (!advice) continue;
    panels.push_back({{"family", family}, {"rows", rows}, {"advice", to_json(*advice)}});
  }
  return panels;
}

}  // namespace recto::experiments
