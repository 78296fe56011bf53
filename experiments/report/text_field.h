#pragma once

#include <string>

#include "experiments/support/run_config.h"

namespace recto::experiments {

// The text of a field; empty if the field is missing or is not a text, as manifests may have been
// edited.
inline std::string text_of(const Json& json, const std::string& name) {
  const bool is_text = json.is_object() && json.contains(name) && json[name].is_string();
  return is_text ? json[name].get<std::string>() : std::string();
}

}  // namespace recto::experiments
