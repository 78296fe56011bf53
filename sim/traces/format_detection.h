#pragma once

// Detects the format of a trace from its first line, never from its file name.

#include <memory>

#include "core/status.h"
#include "sim/traces/line_reader.h"
#include "sim/traces/row_parser.h"

namespace recto::sim {

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
