#pragma once

// Rows that differ only in the block size, and which of them is best.

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/report/block_size_criteria.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// What throughput means: tokens, or requests that met their latency limits.
enum class Throughput : std::uint8_t { kTokens, kGoodput };

// kGoodput where latencies have limits.
Throughput throughput_of(const std::vector<RunConfig>& configs);

// `metrics` are those of report_metrics.h, with kBySeed where they are means over seeds.
BlockSizeFigures figures_of(std::int64_t block_size, const Json& metrics, Throughput throughput);

// Of the page's rows, of each of which `families` says everything else that is set: for every
// family with two sizes or more {"family", "rows": by ascending size, "advice"}. Rows without
// blocks, or without figures, of failed runs, are left out. Metrics are means over `seeds` seeds.
Json block_size_panels(const Json& rows, const std::vector<std::string>& families,
                       Throughput throughput, std::int64_t seeds);

}  // namespace recto::experiments
