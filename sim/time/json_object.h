#pragma once

// Objects in JSON files, read so that a mistake is told by file, line and field.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/status.h"

namespace recto::sim {

// All of a file. Invalid input where it cannot be read, a folder, for instance; `expected` says
// what should be there: "a JSON file of coefficients".
Result<std::string> read_text(const std::string& path, std::string_view expected);

// Invalid input for what is no object, or has a key of it twice; `expected`: "an object of
// coefficients".
Result<nlohmann::json> parse_json_object(std::string_view text, const std::string& file_name,
                                         std::string_view expected);

}  // namespace recto::sim
