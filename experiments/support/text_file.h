#pragma once

#include <string>

#include "core/status.h"

namespace recto::experiments {

// Reads a whole file or open pipe, as core/input_file.h does. Invalid input, naming it.
Result<std::string> read_text_file(const std::string& path);

}  // namespace recto::experiments
