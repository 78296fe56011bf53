#pragma once

// Takes fields out of a JSON object, each once, by name. A field that is not there is wrong, unless
// it is looked for by `find`: a default that nobody wrote would be taken for what somebody meant.
// The first thing that is wrong sticks, with the path of its field.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/status.h"

namespace recto::verify {

using Json = nlohmann::ordered_json;

class FieldReader {
 public:
  // `object` outlives it. `path` is that of the object, empty for the outermost one.
  FieldReader(const Json& object, std::string path);

  void read(const char* name, std::int64_t& value);
  void read(const char* name, std::uint64_t& value);
  void read(const char* name, float& value);         // rounded to fp32; finite
  std::optional<bool> read_truth(const char* name);  // nothing where it is wrong
  void read(const char* name, std::string& value);
  void read(const char* name, std::optional<std::int64_t>& value);  // null: nothing

  // One of `values`, by the name that `name_of` gives it.
  template <typename T, typename Values, typename NameOf>
  void read_choice(const char* name, T& value, const Values& values, NameOf name_of) {
    std::string known;
    for (const T& candidate : values)
      known += (known.empty() ? "" : ", ") + std::string(name_of(candidate));
    const Json* found = require(name, "one of " + known);
    if (found == nullptr) return;
    const std::string text = found->is_string() ? found->get<std::string>() : "";
    for (const T& candidate : values) {
      if (text != name_of(candidate)) continue;
      value = candidate;
      return;
    }
    fail_found(name, "one of " + known, *found);
  }

  // The field, for another reader; null if it is missing, which may be.
  const Json* find(const char* name);
  // The same; a missing one is wrong.
  const Json* require(const char* name, std::string_view expected);
  std::string path_of(std::string_view name) const;

  void fail(std::string_view name, std::string_view expected, std::string_view found);
  void fail_found(std::string_view name, std::string_view expected, const Json& found);
  // What another reader, or a check, has found.
  void merge(const Status& status);

  // Invalid input where something was wrong, or the object has a field that nobody has asked for.
  Status finish();

 private:
  const Json* object_ = nullptr;  // null: it is none
  std::string path_;
  std::set<std::string> known_;
  Status status_;
};

// The text as one JSON object. Invalid input with the line where it is none, or with the path of a
// field that stands twice.
Result<Json> parse_json_object(std::string_view text);

}  // namespace recto::verify
