#pragma once

// Makes gzip data for tests.

#include <string>
#include <string_view>

namespace recto::testing {

// Returns one gzip member that holds `text`.
std::string gzip(std::string_view text);

}  // namespace recto::testing
