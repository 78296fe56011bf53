#pragma once

#include <CLI/CLI.hpp>

#include "core/status.h"

namespace recto::experiments {

// What was wrong with a command line, in one line: which flag, and what was expected. CLI11's own
// words stay where they say it.
Status usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace recto::experiments
