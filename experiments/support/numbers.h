#pragma once

// Formats numbers and lists for output, and parses those of flags and files.

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/number_in.h"
#include "core/status.h"

namespace recto::experiments {

std::string percent(double share);         // "12.3"
std::string grouped(std::int64_t number);  // "1,234,567"
// "1 request", "1,234 requests": for nouns whose plural ends in s.
std::string counted(std::int64_t count, const std::string& noun);
std::string count_text(double count);    // "1,234"; for a mean of counts "0.333"
std::string bytes_text(double bytes);    // "1.50 GiB"
std::string duration_text(double ns);    // "1.23 s", "45.60 ms", "7.89 us"
std::string short_number(double value);  // "1234", "12.34", "0.00123"; NaN: "-"
std::string scientific(double value);    // "1.23e+15"

// At most five characters, for columns: "0.012", "12.34", "12345", "1.23M"; NaN: "-".
// `value` >= 0, or NaN.
std::string compact_number(double value);

// A path or another argument as a shell word: in quotes if needed.
std::string shell_word(const std::string& text);

// Closed ranges.
struct CountRange {
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};
struct NumberRange {
  double min = 0;
  double max = 0;
};

// "an integer from 1 to 1024", "an integer of at least 0", "a number from 0 to 1.5"
std::string range_text(CountRange range);
std::string range_text(NumberRange range);

// In decimal. A NaN is in no range.
Result<std::int64_t> parse_number(std::string_view text, CountRange range);
Result<double> parse_number(std::string_view text, NumberRange range);

// An integer from 0 to 2^64 - 1.
Result<std::uint64_t> parse_uint64(std::string_view text);

// Stores a successful result in a target of the same, a smaller or an optional type.
template <typename Target, typename Value>
Status store(const Result<Value>& value, Target& target) {
  RECTO_RETURN_IF_ERROR(value.status());
  target = static_cast<Target>(value.value());
  return Status::ok();
}

// Invalid input: "found '...'; expected ..."
Status found_other(std::string_view text, std::string_view expected);

// "a,,b" -> {"a", "", "b"}, for a comma.
std::vector<std::string> split(std::string_view text, char separator);

// "a,b" -> {"a", "b"}. An item that is empty, or equal to another, is an error.
Result<std::vector<std::string>> split_list(std::string_view text);

// The items of a flag that was given once or several times, with a list each.
Result<std::vector<std::string>> split_lists(std::span<const std::string> texts);

}  // namespace recto::experiments
