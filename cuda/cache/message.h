#pragma once

// Composes the message of a status from parts, as streams print them.
//
//   return Status::invalid_input(message("row ", row, "; expected 0 to ", num_rows - 1));

#include <sstream>
#include <string>

namespace recto::cache {

template <typename... Parts>
std::string message(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace recto::cache
