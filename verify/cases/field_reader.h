#pragma once

// Reads fields of a JSON object by name, each once. A missing field is an error, except with
// `find`: an implicit default could be mistaken for an intended value. The first error is kept,
// with the path of its field.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/refusal.h"
#include "core/status.h"

namespace recto::verify {

class FieldReader {
 public:
  // `object` must outlive the reader. `path` is that of the object, empty for the outermost one.
  FieldReader(const Json& object, std::string path);

  void read(const char* name, std::int64_t& value);
  void read(const char* name, std::uint64_t& value);
  void read(const char* name, float& value);         // nullopt if it is no boolean
  std::optional<bool> read_truth(const char* name);  // nullopt if it is wrong
  void read(const char* name, std::string& value);
  void read(const char* name, std::optional<std::int64_t>& value);  // null: no value

  // Reads one of `values`, by the name that `name_of` gives it.
  template <typename T, typename Values, typename NameOf>
  void read_choice(const char* name, T& value, const Values& values, NameOf name_of) {
    const std::string expected = "one of " + list_names(values, name_of);
    const Json* found = require(name, expected);
    if (found == nullptr) return;
    const std::string text = found->is_string() ? found->get<std::string>() : "";
    for (const T& candidate : values) {
      if (text != name_of(candidate)) continue;
      value = candidate;
      return;
    }
    fail_found(name, expected, *found);
  }

  // Returns the field, for another reader; null if it is missing, which is allowed.
  const Json* find(const char* name);
  // The same, but a missing field is an error.
  const Json* require(const char* name, std::string_view expected);
  std::string path_of(std::string_view name) const;

  void fail(std::string_view name, std::string_view expected, std::string_view found);
  void fail_found(std::string_view name, std::string_view expected, const Json& found);
  // Adds the error, if any, of another reader or of a check.
  void merge(const Status& status);

  // Returns invalid input if anything was wrong, or if the object has a field that was never read.
  Status finish();

 private:
  const Json* object_ = nullptr;  // null: the value is no object
  std::string path_;
  std::set<std::string> known_;
  Status status_;
};

// Parses the text as one JSON object. Otherwise returns invalid input with the line, or with the
// path of a repeated field.
Result<Json> parse_json_object(std::string_view text);

}  // namespace recto::verify
