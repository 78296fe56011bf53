#pragma once

// Flags for the fields of a RunConfig.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/support/command.h"
#include "experiments/support/run_config.h"
#include "experiments/support/run_fields.h"

namespace recto::experiments {

// The names that a field takes; empty if it takes numbers or free text.
std::vector<std::string> known_values(const RunField& field);

// The flag of one field, in the help's groups. What the field has in `defaults` is shown; `value`
// gets the known names.
Option& add_run_flag(Command& command, const RunField& field, const RunConfig& defaults,
                     OptionValue value);

// One flag per field, which writes into `config`; the values that `config` has now are shown as
// defaults. Fields named in `except` get no flag, for commands that take
// lists of them.
void add_run_flags(Command& command, RunConfig& config,
                   std::span<const std::string_view> except = {});

}  // namespace recto::experiments
