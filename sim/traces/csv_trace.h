#pragma once

// Traces as CSV: each format is a row in one table of column names and units.

#include <memory>
#include <string>

#include "core/status.h"
#include "sim/traces/line_reader.h"
#include "sim/traces/row_parser.h"

namespace recto::sim {

// A parser for the rows under `header`, which tells the format by its column names, in any order
// and with any others between them. kInvalidInput where it is no known header, or nearly one.
Result<std::unique_ptr<RowParser>> make_csv_row_parser(const Line& header);

// The headers that are known, for messages: "A,B,C or D,E,F".
std::string known_csv_headers();

}  // namespace recto::sim
