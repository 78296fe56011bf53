#pragma once

// Tables of text, aligned by terminal columns, not bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace recto::experiments {

enum class Align : std::uint8_t { kLeft, kRight };

struct TableColumn {
  std::string title;
  Align align = Align::kRight;
};

class Table {
 public:
  explicit Table(std::vector<TableColumn> columns) : columns_(std::move(columns)) {}

  // One cell per column; a cell holds no line break and no tab.
  void add_row(std::vector<std::string> cells);

  // With two blanks between columns, none at the end of a line, and a rule below the titles.
  std::string text() const;

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Columns that UTF-8 `text` takes on a terminal, colour codes aside. Every character that recto
// prints is one column wide.
std::size_t display_width(std::string_view text);

}  // namespace recto::experiments
