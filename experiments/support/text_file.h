#pragma once

#include <string>

#include "core/status.h"

namespace recto::experiments {

// The whole file, or pipe. Invalid input naming it, with the system's reason, where it cannot be
// read; devices are not.
Result<std::string> read_text_file(const std::string& path);

}  // namespace recto::experiments
