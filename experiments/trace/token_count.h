#pragma once

#include <string_view>

#include "core/status.h"
#include "core/units.h"

namespace recto::experiments {

// "500", "16k", "1.5M" or "2G": thousands, millions and thousands of millions. Invalid input
// unless it comes to a whole number from 1 to 10^15.
Result<TokenCount> parse_token_count(std::string_view text);

}  // namespace recto::experiments
