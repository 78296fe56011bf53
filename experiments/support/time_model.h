#pragma once

// Parses --time-model. resolved_run.h makes the time models themselves.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace recto::experiments {

enum class TimeModelKind : std::uint8_t { kRoofline, kLinear, kMeasured };

struct TimeModelChoice {
  TimeModelKind kind = TimeModelKind::kRoofline;
  std::string file;  // the model's file; empty for the roofline
};

// Parses "roofline", "linear:FILE" or "measured:GPU". GPU is the absolute path of a folder of
// results, or a folder in experiments/results of the current folder or in the one that
// RECTO_GPU_RESULTS names. Invalid input for anything else, and for a card without results; the
// message then lists the cards with results.
Result<TimeModelChoice> choose_time_model(std::string_view flag);

}  // namespace recto::experiments
