#pragma once

// The fields of a line of text: CSV, numbers, dates. No floating point is involved, so every
// machine reads exactly what the file says.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace recto::sim {

// The fields of one CSV line (RFC 4180, without line breaks inside quotes).
class CsvFields {
 public:
  // Splits `line` at its commas; removes quotes around a field and unescapes doubled quotes inside
  // it. The fields point into `line` or this object and are valid until the next call. O(length).
  // kInvalidInput for an unclosed quote, or for text after a closing one.
  Status split(std::string_view line);

  std::size_t size() const { return fields_.size(); }
  std::string_view operator[](std::size_t index) const { return fields_[index]; }

 private:
  // Reads the quoted field at the start of `rest` and removes it from `rest`.
  Status split_quoted(std::string_view& rest);

  std::vector<std::string_view> fields_;
  std::string unquoted_;  // text of the quoted fields, one after the other
};

// Parses all of `text` as a decimal integer; nullopt if it is not one or exceeds 64 bits.
// O(length).
std::optional<std::int64_t> parse_integer(std::string_view text);

// `text` * 10^power, rounded to the nearest integer (halves up), for a non-negative decimal such
// as "61.114", "5.8926549999999995" or "1e-05". Power 9, for instance, converts seconds to
// nanoseconds. Exact up to that one rounding; nullopt if `text` is not such a number or the result
// exceeds 64 bits.
std::optional<std::int64_t> parse_scaled_decimal(std::string_view text, int power);

// Returns the nanoseconds since 1970-01-01 UTC of a text such as "2023-11-16 18:15:46.6805900": a
// blank or 'T' between date and time, any number of fractional digits or none (rounded to the
// nanosecond, halves up), then nothing, "Z", "+00:00", "+0000" or "+00". Without an offset, UTC is
// assumed. nullopt for anything else, for dates that do not exist and for years outside 1970..2261.
// O(length).
std::optional<std::int64_t> parse_timestamp(std::string_view text);

}  // namespace recto::sim
