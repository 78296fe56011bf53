#pragma once

// Numbers as traces write them. No floating point takes part, so that what a file says is what a
// run uses, on every machine.

#include <cstdint>
#include <optional>
#include <string_view>

namespace recto::sim {

// A decimal integer, all of `text`; nullopt otherwise or beyond 64 bits. O(length).
std::optional<std::int64_t> parse_integer(std::string_view text);

// `text` * 10^power, rounded to the nearest integer (halves up), for a non-negative decimal such
// as "61.114", "5.8926549999999995" or "1e-05". So power 9 reads seconds as nanoseconds. Exact up
// to that one rounding; nullopt if `text` is not such a number or the result exceeds 64 bits.
std::optional<std::int64_t> parse_scaled_decimal(std::string_view text, int power);

}  // namespace recto::sim
