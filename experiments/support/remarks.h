#pragma once

// Remarks printed with results on their limits. Each function returns whole lines of at most 100
// columns, or nothing.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/support/run.h"
#include "experiments/support/run_config.h"
#include "sim/metrics/report.h"

namespace recto::experiments {

// "chat, 500 requests; OPT-13B on 1 x A100-40; pool of 15,728 slots (12.00 GiB)": the setting of a
// run, with its model by this name.
std::string setting_line(const RunConfig& config, std::string_view model,
                         const sim::Report& report);

enum class Coverage : std::uint8_t {
  kArrivals,   // first admission to last arrival
  kWithDrain,  // to the last answer: everything had arrived before the first admission
};

Coverage coverage_of(const sim::Report& report);
std::string means_remark(Coverage coverage);
// The period and the part of the run that the means cover, and the error of percentiles.
std::string means_remark(const sim::Report& report);

// Names constants and curves that are cited, not measured.
std::string provenance_remark(const RunConfig& config);

// The number of requests that could never fit, and the first ids. `label` names the run; may be
// empty.
std::string rejected_remark(const sim::Report& report, std::string_view label);

// Failed if requests arrived and none was served: figures of such a run mean nothing.
Status check_any_served(const sim::Report& report);

// Rows and requests that were left out of the trace.
std::string trace_remark(const RunOutcome& outcome);

// `text` in lines of at most 100 columns, those after the first indented by two blanks.
std::string wrapped(std::string_view text);

// One sentence per remark, unwrapped; works for a single run too. Leaves out all of `configs` that
// cannot be resolved.
std::vector<std::string> grid_remarks(std::span<const RunConfig> configs);

}  // namespace recto::experiments
