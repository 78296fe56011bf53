#include "sim/traces/csv_fields.h"

namespace recto::sim {

Status CsvFields::split(std::string_view line) {
  fields_.clear();
  unquoted_.clear();
  unquoted_.reserve(line.size());  // views into it must not move while the line is taken apart
  std::string_view rest = line;
  while (true) {
    if (rest.starts_with('"')) {
      RECTO_RETURN_IF_ERROR(split_quoted(rest));
    } else {
      // Fields are a few bytes long: a loop beats a call of memchr for each.
      std::size_t length = 0;
      while (length < rest.size() && rest[length] != ',') ++length;
      const std::string_view field = rest.substr(0, length);
      fields_.push_back(field);
      rest.remove_prefix(field.size());
    }
    if (rest.empty()) return Status::ok();
    rest.remove_prefix(1);  // the comma; what follows it, even nothing, is one more field
  }
}

Status CsvFields::split_quoted(std::string_view& rest) {
  const std::string which = "column " + std::to_string(fields_.size() + 1);
  const std::size_t start = unquoted_.size();
  std::size_t i = 1;
  while (true) {
    const std::size_t quote = rest.find('"', i);
    if (quote == std::string_view::npos) {
      return Status::invalid_input(which + ": expected a closing quote on the same line");
    }
    unquoted_.append(rest.substr(i, quote - i));
    i = quote + 1;
    if (i == rest.size() || rest[i] != '"') break;
    unquoted_.push_back('"');
    ++i;
  }
  rest.remove_prefix(i);
  if (!rest.empty() && rest.front() != ',') {
    return Status::invalid_input(which + ": expected a comma after the closing quote");
  }
  fields_.push_back(std::string_view(unquoted_).substr(start));
  return Status::ok();
}

}  // namespace recto::sim
