#include "experiments/support/table.h"

#include <algorithm>

#include "core/contract.h"

namespace recto::experiments {
namespace {

constexpr std::string_view kGap = "  ";

void append_cell(std::string& line, const std::string& cell, Align align, std::size_t width) {
  const std::string padding(width - display_width(cell), ' ');
  line += align == Align::kRight ? padding + cell : cell + padding;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size());  // the end of a colour code
      continue;
    }
    // Bytes 10xxxxxx continue a character.
    if ((static_cast<unsigned char>(text[i]) & 0xC0u) != 0x80u) ++width;
  }
  return width;
}

void Table::add_row(std::vector<std::string> cells) {
  RECTO_CHECK_EQ(cells.size(), columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  std::string titles;
  std::string rule;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) titles += kGap;
    if (i > 0) rule += kGap;
    append_cell(titles, columns_[i].title, columns_[i].align, widths[i]);
    rule += std::string(widths[i], '-');
  }
  std::string result = trimmed(titles) + trimmed(rule);
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i > 0) line += kGap;
      append_cell(line, row[i], columns_[i].align, widths[i]);
    }
    result += trimmed(line);
  }
  return result;
}

}  // namespace recto::experiments
