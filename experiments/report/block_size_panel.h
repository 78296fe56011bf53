#pragma once

// Compares rows that differ only in the block size, and recommends one.

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/report/block_size_criteria.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// The meaning of throughput: tokens, or requests that met their latency limits.
enum class Throughput : std::uint8_t { kTokens, kGoodput };

// kGoodput if latencies have limits.
Throughput throughput_of(const std::vector<RunConfig>& configs);

// `metrics` are those of report_metrics.h, with kBySeed where they are means over seeds.
BlockSizeFigures figures_of(std::int64_t block_size, const Json& metrics, Throughput throughput);

// Groups the page's rows by family: `families` has each row's settings except the block size. For
// every family with two sizes or more: {"family", "rows": by ascending size, "advice"}. Leaves out
// rows without blocks and rows of failed runs. Metrics are means over `seeds` seeds.
Json block_size_panels(const Json& rows, const std::vector<std::string>& families,
                       Throughput throughput, std::int64_t seeds);

}  // namespace recto::experiments
