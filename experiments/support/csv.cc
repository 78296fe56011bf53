#include "experiments/support/csv.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

namespace recto::experiments {
namespace {

std::string quoted(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(field);
  std::string text = "\"";
  for (const char c : field) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

}  // namespace

std::string csv_row(const std::vector<std::string>& fields) {
  std::string row;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) row += ',';
    row += quoted(fields[i]);
  }
  return row + '\n';
}

std::string csv_number(double value) { return fmt::format("{}", value); }

std::string csv_number_or_nothing(double value) {
  return std::isfinite(value) ? csv_number(value) : "";
}

std::string csv_numbers(std::span<const double> values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ';';
    text += csv_number_or_nothing(values[i]);
  }
  return text;
}

}  // namespace recto::experiments
