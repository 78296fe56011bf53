#pragma once

// Sentences printed with results, so that nobody takes them for more than they are. Each function
// returns whole lines of at most 100 columns, or nothing.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/support/run.h"
#include "experiments/support/run_config.h"
#include "sim/metrics/report.h"

namespace recto::experiments {

// "pool of 15,728 slots (12.00 GiB)": of a run, in words for the line of its settings.
std::string pool_text(const RunConfig& config, const sim::Report& report);

enum class Coverage : std::uint8_t {
  kArrivals,   // first admission to last arrival
  kWithDrain,  // to the last answer: everything had arrived before the first admission
};

Coverage coverage_of(const sim::Report& report);
std::string means_remark(Coverage coverage);
// The same, how much of the run the means cover, and how far off percentiles may be.
std::string means_remark(const sim::Report& report);

// Which constants and curves are cited, not measured.
std::string provenance_remark(const RunConfig& config);

// How many requests could never fit, and their first ids. `label` names the run; may be empty.
std::string rejected_remark(const sim::Report& report, std::string_view label);

// Failed if requests arrived and none was served: figures of such a run mean nothing.
Status check_any_served(const sim::Report& report);

// What was left out of the trace.
std::string trace_remark(const RunOutcome& outcome);

// `text` in lines of at most 100 columns, those after the first indented by two blanks.
std::string wrapped(std::string_view text);

// One sentence per remark, unwrapped; works for a single run too. Leaves out all of `configs` that
// cannot be resolved.
std::vector<std::string> grid_remarks(std::span<const RunConfig> configs);

}  // namespace recto::experiments
