#include "experiments/report/results_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/contract.h"
#include "sim/traces/csv_fields.h"

namespace recto::experiments {

Result<ResultsTable> ResultsTable::parse(const std::string& text, const std::string& path) {
  ResultsTable table;
  table.path_ = path;
  sim::CsvFields fields;
  std::string_view rest = text;
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const Status split = fields.split(rest.substr(0, end));
    RECTO_RETURN_IF_ERROR(split.in(fmt::format("{}, line {}", path, line)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::vector<std::string> row;
    for (std::size_t i = 0; i < fields.size(); ++i) row.emplace_back(fields[i]);
    if (line == 1) {
      table.columns_ = std::move(row);
      continue;
    }
    if (row.size() != table.columns_.size()) {
      return Status::invalid_input(
          fmt::format("{}, line {}: found {} fields; expected {}, as many "
                      "as the first line has",
                      path, line, row.size(), table.columns_.size()));
    }
    table.rows_.push_back(std::move(row));
  }
  if (table.rows_.empty()) {
    return Status::invalid_input(path + ": found no row; expected one per configuration");
  }
  return table;
}

std::optional<std::size_t> ResultsTable::find(std::string_view column) const {
  const auto found = std::ranges::find(columns_, column);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

bool ResultsTable::has(std::string_view column) const { return find(column).has_value(); }

const std::string& ResultsTable::text(std::size_t row, std::string_view column) const {
  const std::optional<std::size_t> place = find(column);
  RECTO_CHECK(place.has_value());
  return rows_[row][*place];
}

Result<std::optional<double>> ResultsTable::number(std::size_t row, std::string_view column) const {
  const std::optional<std::size_t> place = find(column);
  if (!place || rows_[row][*place].empty()) return std::optional<double>();
  const std::string& field = rows_[row][*place];
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size() || !std::isfinite(value)) {
    return refusal(row, column, "a number");
  }
  return std::optional<double>(value);
}

Status ResultsTable::refusal(std::size_t row, std::string_view column,
                             std::string_view expected) const {
  return Status::invalid_input(fmt::format("{}, line {}, {}: found '{}'; expected {}", path_,
                                           row + 2, column, text(row, column), expected));
}

Status ResultsTable::no_column(std::string_view column) const {
  return Status::invalid_input(
      fmt::format("{}: found no column {}; expected one, as recto writes it", path_, column));
}

}  // namespace recto::experiments
