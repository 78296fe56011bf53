#pragma once

// Comma-separated lists, as flags take them.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace recto::experiments {

// "a,b" -> {"a", "b"}. Invalid input for an empty item, and for two equal ones. CLI11's own lists
// leave out empty items; if all are, what follows is taken for the list.
Result<std::vector<std::string>> split_list(std::string_view text);

// The items of a flag that was given once or several times, with a list each.
Result<std::vector<std::string>> split_lists(std::span<const std::string> texts);

}  // namespace recto::experiments
