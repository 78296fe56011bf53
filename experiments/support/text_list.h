#pragma once

// Comma-separated lists, as flags take them.

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace recto::experiments {

// "a,b" -> {"a", "b"}. Invalid input for an empty item.
Result<std::vector<std::string>> split_list(std::string_view text);

}  // namespace recto::experiments
