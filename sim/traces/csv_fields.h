#pragma once

// The fields of one CSV line (RFC 4180, without line breaks inside quotes).

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace recto::sim {

class CsvFields {
 public:
  // Splits `line` at its commas; removes quotes around a field and unescapes doubled quotes inside
  // it. The fields point into `line` or this object and are valid until the next call. O(length).
  // kInvalidInput for an unclosed quote, or for text after a closing one.
  Status split(std::string_view line);

  std::size_t size() const { return fields_.size(); }
  std::string_view operator[](std::size_t index) const { return fields_[index]; }

 private:
  // Reads the quoted field at the start of `rest` and removes it from `rest`.
  Status split_quoted(std::string_view& rest);

  std::vector<std::string_view> fields_;
  std::string unquoted_;  // text of the quoted fields, one after the other
};

}  // namespace recto::sim
