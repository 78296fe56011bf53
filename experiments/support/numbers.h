#pragma once

// Numbers as people read them.

#include <cstdint>
#include <string>

namespace recto::experiments {

std::string percent(double share);         // "12.3"
std::string grouped(std::int64_t number);  // "1,234,567"
// "1 request", "1,234 requests": of nouns whose plural ends in s.
std::string counted(std::int64_t count, const std::string& noun);
std::string count_text(double count);    // "1,234"; of a mean of counts "0.333"
std::string bytes_text(double bytes);    // "1.50 GiB"
std::string duration_text(double ns);    // "1.23 s", "45.60 ms", "7.89 us"
std::string short_number(double value);  // "1234", "12.34", "0.00123"; of NaN "-"
std::string scientific(double value);    // "1.23e+15"

// At most five characters, for columns: "0.012", "12.34", "12345", "1.23M", of NaN "-".
// `value` >= 0, or NaN.
std::string compact_number(double value);

}  // namespace recto::experiments
