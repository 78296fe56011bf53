#pragma once

#include <string>

namespace recto {

// JSON as text, on one line if `indent` is negative. Names of files, and what other people's
// libraries say, may be any bytes: nlohmann's own `dump` throws on those that are not UTF-8; here
// U+FFFD takes their place.
template <typename Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace recto
