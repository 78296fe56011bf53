#pragma once

// Detects the format of a trace from its first line, never from its file name. Each format of CSV
// is a row in one table of column names and units.

#include <memory>
#include <string>

#include "core/status.h"
#include "sim/traces/line_reader.h"
#include "sim/traces/row_parser.h"

namespace recto::sim {

// Returns a parser for the rows under `header`, whose column names identify the format; they may be
// in any order and mixed with others. kInvalidInput if the header is unknown, or only nearly a
// known one.
Result<std::unique_ptr<RowParser>> make_csv_row_parser(const Line& header);

// The known headers, for messages: "A,B,C or D,E,F".
std::string known_csv_headers();

enum class FirstLine : std::uint8_t {
  kHeader,    // names the columns; not a row
  kFirstRow,  // must also be parsed as a row
};

struct DetectedFormat {
  std::unique_ptr<RowParser> parser;
  FirstLine first_line;
};

// kInvalidInput if no format matches, with what was expected and, if recognisable, what the file is
// instead (UTF-16, zstd, a JSON array, a Git LFS pointer and the like).
Result<DetectedFormat> detect_format(const Line& first_line);

}  // namespace recto::sim
