#pragma once

// A CSV file that recto wrote, read back: rows by number, columns by name. Its fields are not
// checked: the manifest has its content's hash (check_written_files).

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace recto::experiments {

class ResultsTable {
 public:
  // Invalid input, naming `path` and the line, if a row does not have as many fields as the header,
  // and for a table without rows. O(length).
  static Result<ResultsTable> parse(const std::string& text, const std::string& path);

  std::size_t rows() const { return rows_.size(); }
  bool has(std::string_view column) const;

  // The column must exist.
  const std::string& text(std::size_t row, std::string_view column) const;
  // Of a mean over seeds the value of seed number `seed`, which the column's values by seed have;
  // else the field. The column must exist.
  std::string_view text_of_seed(std::size_t row, std::string_view column, std::size_t seed) const;
  // nullopt if the column is missing, or the field is no finite number in decimal.
  std::optional<double> number(std::size_t row, std::string_view column,
                               std::optional<std::size_t> seed = {}) const;

  // Of how many seeds the rows are, by their columns of values by seed; 1 without such columns,
  // nullopt if all of their fields are empty. Invalid input, naming the column, if a mean with an
  // interval has no such values.
  Result<std::optional<std::size_t>> seeds() const;

  // Invalid input, naming the file, for a column that is missing: another recto wrote the file.
  Status expect(std::string_view column) const;

 private:
  std::optional<std::size_t> find(std::string_view column) const;

  std::string path_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;  // [row][column]
};

}  // namespace recto::experiments
