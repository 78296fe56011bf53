#pragma once

// A CSV file that recto wrote: rows by number, columns by name. Fields are not checked, because the
// manifest has a hash of the content (check_written_files).

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
  // For a mean over seeds, the value under seed number `seed`; otherwise the field. The column must
  // exist.
  std::string_view text_of_seed(std::size_t row, std::string_view column, std::size_t seed) const;
  // nullopt if the column is missing, or the field is no finite number in decimal.
  std::optional<double> number(std::size_t row, std::string_view column,
                               std::optional<std::size_t> seed = {}) const;

  // The number of seeds, from the columns of values by seed; 1 without such columns, nullopt if all
  // of their fields are empty. Invalid input, naming the column, if a mean with an interval has no
  // values by seed.
  Result<std::optional<std::size_t>> seeds() const;

  // Invalid input, naming the file, if the column is missing: another version of recto wrote it.
  Status expect(std::string_view column) const;

 private:
  std::optional<std::size_t> find(std::string_view column) const;

  std::string path_;
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;  // [row][column]
};

}  // namespace recto::experiments
