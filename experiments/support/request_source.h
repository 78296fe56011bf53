#pragma once

// The requests of a configuration: a trace file, or a named synthetic workload with some of its
// parts replaced.

#include <memory>
#include <optional>
#include <string>

#include "core/status.h"
#include "experiments/support/run_config.h"
#include "sim/request.h"
#include "sim/traces/trace_reader.h"
#include "sim/workloads/length_distribution.h"
#include "sim/workloads/synthetic_workload.h"
#include "sim/workloads/workload_specs.h"

namespace recto::experiments {

inline constexpr const char* kDefaultWorkload = "sharegpt-like";

struct OpenedSource {
  std::unique_ptr<sim::RequestSource> requests;
  const sim::TraceReader* trace = nullptr;  // inside `requests`; null for synthetic ones
};

// Invalid input naming the flag at fault.
Result<OpenedSource> open_source(const RunConfig& config);

// The parts of a synthetic workload. Invalid input if there is a trace instead.
Result<sim::SyntheticOptions> synthetic_options(const RunConfig& config);

// "sharegpt-like", or the trace's file name; for tables.
std::string workload_name(const RunConfig& config);

// Lengths of prompts and outputs as given by flags: the text forms of sim/workloads/length_spec.h,
// and `empirical:prompts@FILE` and `empirical:outputs@FILE`, the lengths of a trace, each as often
// as it occurs there. Reads the trace, in any format. Invalid input names the file at fault.
Result<sim::LengthDistribution> parse_lengths(const std::string& text);

// The trace that `text` reads, if any.
std::optional<std::string> lengths_file(const std::string& text);

}  // namespace recto::experiments
