#pragma once

// The workloads that recto knows by name.

#include <cstdint>
#include <span>
#include <string_view>

#include "core/status.h"
#include "sim/workloads/synthetic_workload.h"

namespace recto::sim {

struct BuiltinWorkload {
  std::string_view name;
  std::string_view description;  // one line
  std::string_view source;       // source of the figures

  // Parts in their text forms; empty follow_ups means the same as prompts.
  std::string_view arrivals;
  std::string_view prompts;
  std::string_view follow_ups;
  std::string_view outputs;
  std::string_view sharing;

  std::int64_t request_count;
  TokenCount max_context;
};

std::span<const BuiltinWorkload> builtin_workloads();

// Returns the options of a workload, to run as they are or to change. The error for an unknown name
// lists the known names.
Result<SyntheticOptions> builtin_workload(std::string_view name);

}  // namespace recto::sim
