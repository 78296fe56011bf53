#include "sim/traces/decimal.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace recto::sim {
namespace {

// Exponents beyond this are beyond every unit of time; the bound keeps sums from overflowing.
constexpr int kExponentMax = 1000;

std::size_t count_digits(std::string_view text) {
  const auto first_other =
      std::find_if(text.begin(), text.end(), [](char c) { return c < '0' || c > '9'; });
  return static_cast<std::size_t>(first_other - text.begin());
}

std::optional<int> parse_exponent(std::string_view text) {
  if (text.empty()) return 0;
  if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
  text.remove_prefix(1);
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  const std::optional<std::int64_t> exponent = parse_integer(text);
  if (!exponent) return std::nullopt;
  return static_cast<int>(std::clamp<std::int64_t>(*exponent, -kExponentMax, kExponentMax));
}

// Appends `digit` to the decimal `value`; false if that overflows.
bool append_digit(std::int64_t& value, int digit) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (value > (kMax - digit) / 10) return false;
  value = value * 10 + digit;
  return true;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_scaled_decimal(std::string_view text, int power) {
  const std::string_view whole = text.substr(0, count_digits(text));
  std::string_view rest = text.substr(whole.size());
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = rest.substr(0, count_digits(rest));
    rest.remove_prefix(fraction.size());
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  const std::optional<int> exponent = parse_exponent(rest);
  if (!exponent) return std::nullopt;

  // Of the digits in a row, whole part first, `kept` stand before the point of the result.
  const auto digits = static_cast<std::int64_t>(whole.size() + fraction.size());
  const std::int64_t kept = static_cast<std::int64_t>(whole.size()) + *exponent + power;
  const auto digit_at = [&](std::int64_t index) {
    const auto i = static_cast<std::size_t>(index);
    return (i < whole.size() ? whole[i] : fraction[i - whole.size()]) - '0';
  };
  std::int64_t value = 0;
  for (std::int64_t i = 0; i < std::min(kept, digits); ++i) {
    if (!append_digit(value, digit_at(i))) return std::nullopt;
  }
  for (std::int64_t i = digits; i < kept && value > 0; ++i) {
    if (!append_digit(value, 0)) return std::nullopt;
  }
  if (kept >= 0 && kept < digits && digit_at(kept) >= 5) {
    if (value == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    ++value;
  }
  return value;
}

}  // namespace recto::sim
