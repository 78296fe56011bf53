#include "experiments/report/results_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/contract.h"
#include "sim/traces/text_fields.h"

namespace recto::experiments {
namespace {

constexpr std::string_view kInterval = "_ci95";
constexpr std::string_view kBySeedSuffix = "_by_seed";

std::vector<std::string> split(std::string_view values) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = values.find(';');
    parts.emplace_back(values.substr(0, end));
    if (end == std::string_view::npos) return parts;
    values.remove_prefix(end + 1);
  }
}

}  // namespace

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

std::optional<std::size_t> ResultsTable::seeds() const {
  bool has_several = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (!columns_[i].ends_with(kBySeedSuffix)) continue;
    has_several = true;
    for (const auto& row : rows_) {
      if (!row[i].empty()) return split(row[i]).size();
    }
  }
  return has_several ? std::nullopt : std::optional<std::size_t>(1);
}

Result<ResultsTable> ResultsTable::of_seed(std::size_t seed, std::size_t seeds) const {
  ResultsTable table;
  table.path_ = path_;
  table.rows_.resize(rows_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].ends_with(kInterval) || columns_[i].ends_with(kBySeedSuffix)) continue;
    const std::string by_seed = columns_[i] + std::string(kBySeedSuffix);
    const std::optional<std::size_t> values = find(by_seed);
    if (!values && has(columns_[i] + std::string(kInterval))) return no_column(by_seed);
    table.columns_.push_back(columns_[i]);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (!values || rows_[row][*values].empty()) {
        table.rows_[row].push_back(rows_[row][i]);
        continue;
      }
      const std::vector<std::string> parts = split(rows_[row][*values]);
      if (parts.size() != seeds) {
        return refusal(row, columns_[*values], fmt::format("{} values, one per seed", seeds));
      }
      table.rows_[row].push_back(parts[seed]);
    }
  }
  return table;
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
