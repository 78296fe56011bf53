#pragma once

// Visits the fields of one line of a JSON-lines file in file order. Numbers are passed on as text
// where their exact decimal value matters.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "core/status.h"
#include "sim/traces/line_reader.h"

namespace recto::sim {

// The text of the field's number as written in the file, or of any other value in its place.
std::string_view raw_text(simdjson::ondemand::value& value);

// Errors read "field F: expected E, got ...". The raw text must be taken before anything else is
// read.
Result<std::int64_t> read_token_count(std::string_view field, simdjson::ondemand::value value);

// A non-negative time in units of 10^power ns, which messages call `unit`.
struct JsonTime {
  std::int64_t ns = 0;
  std::string_view text;
};
Result<JsonTime> read_time(std::string_view field, simdjson::ondemand::value value, int power,
                           std::string_view unit);

// Reads an array of whole numbers from 0 to the largest that the element type holds. O(length).
Result<std::vector<std::uint64_t>> read_content_ids(std::string_view field,
                                                    simdjson::ondemand::value value);
Result<std::vector<std::int32_t>> read_token_ids(std::string_view field,
                                                 simdjson::ondemand::value value);

// Tracks which of a few names have been seen on a line.
class SeenFields {
 public:
  explicit SeenFields(std::span<const std::string_view> names)
      : names_(names), is_seen_(names.size(), 0) {}

  void clear() { is_seen_.assign(names_.size(), 0); }

  // Returns the index of `name`, or names_.size() if it is not one of them; an error the second
  // time.
  Result<std::size_t> claim(std::string_view name);

  bool has(std::size_t index) const { return is_seen_[index] != 0; }

 private:
  std::span<const std::string_view> names_;
  std::vector<char> is_seen_;
};

class JsonFields {
 public:
  // Calls `visit(name, value)` -> Status for each field of the one object on `line`, until the
  // first failure. String views passed to it are valid as long as the line is. O(length).
  template <typename Visit>
  Status visit(const Line& line, Visit visit) {
    namespace ondemand = simdjson::ondemand;
    const simdjson::padded_string_view text(line.text.data(), line.text.size(),
                                            line.readable_bytes);
    ondemand::document document;
    ondemand::object object;
    if (parser_.iterate(text).get(document) || document.get_object().get(object)) {
      return not_an_object(line);
    }
    for (simdjson::simdjson_result<ondemand::field> result : object) {
      ondemand::field field;
      std::string_view name;
      if (std::move(result).get(field) || field.unescaped_key().get(name)) {
        return not_an_object(line);
      }
      RECTO_RETURN_IF_ERROR(visit(name, field.value()));
    }
    // After the end of the object there is nothing to locate.
    const char* location = nullptr;
    const simdjson::error_code at_end = document.current_location().get(location);
    return at_end == simdjson::OUT_OF_BOUNDS ? Status::ok() : not_an_object(line);
  }

 private:
  static Status not_an_object(const Line& line);

  simdjson::ondemand::parser parser_;
};

}  // namespace recto::sim
