#pragma once

// Lengths of prompts and outputs as flags have them: the text forms of sim/workloads/length_spec.h
// and, beside them, those of a trace, each as often as it occurs there:
//
//   empirical:prompts@FILE    empirical:outputs@FILE

#include <optional>
#include <string>

#include "core/status.h"
#include "sim/workloads/length_distribution.h"

namespace recto::experiments {

// Reads the trace, in any format, if there is one. Invalid input names the file at fault.
Result<sim::LengthDistribution> parse_lengths(const std::string& text);

// The trace that `text` reads, if it does.
std::optional<std::string> lengths_file(const std::string& text);

}  // namespace recto::experiments
