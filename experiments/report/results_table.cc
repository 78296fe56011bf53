#include "experiments/report/results_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/contract.h"
#include "experiments/support/numbers.h"
#include "sim/traces/text_fields.h"

namespace recto::experiments {
namespace {

constexpr std::string_view kInterval = "_ci95";
constexpr std::string_view kBySeed = "_by_seed";

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

std::string_view ResultsTable::text_of_seed(std::size_t row, std::string_view column,
                                            std::size_t seed) const {
  const std::optional<std::size_t> place = find(std::string(column) + std::string(kBySeed));
  if (!place || rows_[row][*place].empty()) return text(row, column);
  std::string_view values = rows_[row][*place];
  for (; seed > 0; --seed) values.remove_prefix(values.find(';') + 1);
  return values.substr(0, values.find(';'));
}

std::optional<double> ResultsTable::number(std::size_t row, std::string_view column,
                                           std::optional<std::size_t> seed) const {
  if (!has(column)) return std::nullopt;
  constexpr double kLargest = std::numeric_limits<double>::max();
  const std::string_view field = seed ? text_of_seed(row, column, *seed) : text(row, column);
  const Result<double> number = parse_number(field, NumberRange{-kLargest, kLargest});
  return number.is_ok() ? std::optional(number.value()) : std::nullopt;
}

Result<std::optional<std::size_t>> ResultsTable::seeds() const {
  std::optional<std::size_t> seeds;
  bool has_several = false;
  for (const std::string& column : columns_) {
    if (!column.ends_with(kInterval)) continue;
    has_several = true;
    const std::string mean = column.substr(0, column.size() - kInterval.size());
    RECTO_RETURN_IF_ERROR(expect(mean + std::string(kBySeed)));
    for (std::size_t row = 0; row < rows() && !seeds; ++row) {
      const std::string& values = text(row, mean + std::string(kBySeed));
      if (!values.empty()) seeds = 1 + std::ranges::count(values, ';');
    }
  }
  return has_several ? seeds : std::optional<std::size_t>(1);
}

Status ResultsTable::expect(std::string_view column) const {
  if (has(column)) return Status::ok();
  return Status::invalid_input(
      fmt::format("{}: found no column {}; expected one, as recto writes it", path_, column));
}

}  // namespace recto::experiments
