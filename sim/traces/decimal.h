#pragma once

// Parses numbers in traces. No floating point is involved, so a run uses exactly what a file says,
// on every machine.

#include <cstdint>
#include <optional>
#include <string_view>

namespace recto::sim {

// Parses all of `text` as a decimal integer; nullopt if it is not one or exceeds 64 bits.
// O(length).
std::optional<std::int64_t> parse_integer(std::string_view text);

// `text` * 10^power, rounded to the nearest integer (halves up), for a non-negative decimal such
// as "61.114", "5.8926549999999995" or "1e-05". Power 9, for instance, converts seconds to
// nanoseconds. Exact up to that one rounding; nullopt if `text` is not such a number or the result
// exceeds 64 bits.
std::optional<std::int64_t> parse_scaled_decimal(std::string_view text, int power);

}  // namespace recto::sim
