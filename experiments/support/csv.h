#pragma once

// Rows of comma-separated values (RFC 4180, lines ended by LF).

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recto::experiments {

// One row with its line break; fields are quoted where they must be.
std::string csv_row(const std::vector<std::string>& fields);

// A number in the shortest form that reads back to the same value.
std::string csv_number(double value);
// The same; empty for NaN and infinities.
std::string csv_number_or_nothing(double value);
// Such numbers in one field: "1.5;2".
std::string csv_numbers(std::span<const double> values);

}  // namespace recto::experiments
