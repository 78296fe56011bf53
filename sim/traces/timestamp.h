#pragma once

// Parses dates with a time of day, as in the Azure traces.

#include <cstdint>
#include <optional>
#include <string_view>

namespace recto::sim {

// Returns the nanoseconds since 1970-01-01 UTC of a text such as "2023-11-16 18:15:46.6805900": a
// blank or 'T' between date and time, any number of fractional digits or none (rounded to the
// nanosecond, halves up), then nothing, "Z", "+00:00", "+0000" or "+00". Without an offset, UTC is
// assumed. nullopt for anything else, for dates that do not exist and for years outside 1970..2261.
// O(length).
std::optional<std::int64_t> parse_timestamp(std::string_view text);

}  // namespace recto::sim
