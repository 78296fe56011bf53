#pragma once

// Rows that differ only in the block size, and which of them is best.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiments/report/block_size_criteria.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// What throughput means: tokens, or requests that met their latency limits.
enum class Throughput : std::uint8_t { kTokens, kGoodput };

// Of metrics that are means over seeds: an array of the metrics under each.
inline constexpr const char* kBySeed = "by_seed";

// `metrics` are those of report_metrics.h, with kBySeed where they are means over seeds.
BlockSizeFigures figures_of(std::int64_t block_size, const Json& metrics, Throughput throughput);

class BlockSizePanels {
 public:
  // Adds row number `row` of the page, which has this block size; `family` says everything else
  // that is set. Rows without figures are left out, of failed runs.
  void add(const std::string& family, std::int64_t block_size, std::size_t row,
           const Json& metrics);

  // For every family with two sizes or more: {"family", "rows": by ascending size, "advice"}.
  // Metrics are means over `seeds` seeds.
  Json json(Throughput throughput, std::int64_t seeds) const;

 private:
  struct Entry {
    std::int64_t block_size = 0;
    std::size_t row = 0;
    Json metrics;
  };

  std::vector<std::pair<std::string, std::vector<Entry>>> families_;  // in order of appearance
};

}  // namespace recto::experiments
