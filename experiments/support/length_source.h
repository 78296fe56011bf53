#pragma once

// Lengths of prompts and outputs as given by flags: the text forms of sim/workloads/length_spec.h
// and, in addition, the lengths of a trace, each as often as it occurs there:
//
//   empirical:prompts@FILE    empirical:outputs@FILE

#include <optional>
#include <string>

#include "core/status.h"
#include "sim/workloads/length_distribution.h"

namespace recto::experiments {

// Reads the trace, in any format, if there is one. Invalid input names the file at fault.
Result<sim::LengthDistribution> parse_lengths(const std::string& text);

// The trace that `text` reads, if any.
std::optional<std::string> lengths_file(const std::string& text);

}  // namespace recto::experiments
