#pragma once

// The fields of one CSV line (RFC 4180, without line breaks inside quotes).

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace recto::sim {

class CsvFields {
 public:
  // Takes `line` apart at its commas; quotes around a field are removed, doubled ones inside it
  // halved. The fields point into `line` or this object and are valid until the next call.
  // O(length). An unclosed quote, and text behind a closing one, are kInvalidInput.
  Status split(std::string_view line);

  std::size_t size() const { return fields_.size(); }
  std::string_view operator[](std::size_t index) const { return fields_[index]; }

 private:
  // Reads the quoted field at the start of `rest` and takes it off.
  Status split_quoted(std::string_view& rest);

  std::vector<std::string_view> fields_;
  std::string unquoted_;  // text of the quoted fields, one behind the other
};

}  // namespace recto::sim
