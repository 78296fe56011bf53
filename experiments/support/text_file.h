#pragma once

#include <string>

#include "core/status.h"

namespace recto::experiments {

// The whole file, or open pipe, as of core/input_file.h. Invalid input naming it.
Result<std::string> read_text_file(const std::string& path);

}  // namespace recto::experiments
