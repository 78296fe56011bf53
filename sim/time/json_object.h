#pragma once

// Reads objects in JSON files; errors name the file, line and field.

#include <string>
#include <string_view>

#include "core/json.h"
#include "core/status.h"

namespace recto::sim {

// Reads a whole file. Invalid input if it cannot be read, for instance if it is a folder;
// `expected` says what should be there: "a JSON file of coefficients".
Result<std::string> read_text(const std::string& path, std::string_view expected);

// Invalid input if `text` is not an object or repeats a key; `expected`: "an object of
// coefficients".
Result<Json> parse_json_object(std::string_view text, const std::string& file_name,
                               std::string_view expected);

}  // namespace recto::sim
