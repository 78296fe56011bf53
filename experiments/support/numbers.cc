#include "experiments/support/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

namespace recto::experiments {
namespace {

template <typename Number, typename Range>
Result<Number> number_within(std::string_view text, Range range) {
  const std::optional<Number> value = number_in<Number>(text);
  // Written so that a NaN fails.
  if (value && *value >= range.min && *value <= range.max) return *value;
  return found_other(text, range_text(range));
}

}  // namespace

std::string percent(double share) { return fmt::format("{:.1f}", share * 100); }

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string counted(std::int64_t count, const std::string& noun) {
  return grouped(count) + ' ' + noun + (count == 1 ? "" : "s");
}

std::string count_text(double count) {
  return count == std::rint(count) ? grouped(std::llrint(count)) : short_number(count);
}

std::string bytes_text(double bytes) {
  static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", short_number(bytes), kUnits[unit]);
}

std::string duration_text(double ns) {
  if (ns >= 1e9) return short_number(ns / 1e9) + " s";
  if (ns >= 1e6) return short_number(ns / 1e6) + " ms";
  if (ns >= 1e3) return short_number(ns / 1e3) + " us";
  return short_number(ns) + " ns";
}

std::string short_number(double value) {
  if (std::isnan(value)) return "-";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 999.5) return fmt::format("{:.0f}", value);
  if (size >= 99.95) return fmt::format("{:.1f}", value);
  if (size >= 0.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

std::string scientific(double value) { return value == 0 ? "0" : fmt::format("{:.2e}", value); }

std::string compact_number(double value) {
  if (std::isnan(value)) return "-";
  // The limits are those at which rounding would add a digit.
  if (value < 9.9995) return fmt::format("{:.3f}", value);
  if (value < 99.995) return fmt::format("{:.2f}", value);
  if (value < 999.95) return fmt::format("{:.1f}", value);
  if (value < 99'999.5) return fmt::format("{:.0f}", value);
  for (const char* unit : {"k", "M", "G", "T", "P"}) {
    value /= 1000;
    if (value < 9.995) return fmt::format("{:.2f}{}", value, unit);
    if (value < 99.95) return fmt::format("{:.1f}{}", value, unit);
    if (value < 999.5) return fmt::format("{:.0f}{}", value, unit);
  }
  return fmt::format("{:.0e}", value * 1e15);
}

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain = "@%+=:,./-_";
  const bool is_plain = !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kPlain.find(c) != std::string_view::npos;
  });
  if (is_plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Status found_other(std::string_view text, std::string_view expected) {
  return Status::invalid_input(fmt::format("found '{}'; expected {}", text, expected));
}

std::string range_text(CountRange range) {
  if (range.max == CountRange().max) return fmt::format("an integer of at least {}", range.min);
  return fmt::format("an integer from {} to {}", range.min, range.max);
}

std::string range_text(NumberRange range) {
  return fmt::format("a number from {} to {}", range.min, range.max);
}

Result<std::int64_t> parse_number(std::string_view text, CountRange range) {
  return number_within<std::int64_t>(text, range);
}

Result<double> parse_number(std::string_view text, NumberRange range) {
  return number_within<double>(text, range);
}

Result<std::uint64_t> parse_uint64(std::string_view text) {
  const std::optional<std::uint64_t> value = number_in<std::uint64_t>(text);
  if (value) return *value;
  return found_other(text, range_text(CountRange()));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Result<std::vector<std::string>> split_list(std::string_view text) {
  std::vector<std::string> items = split(text, ',');
  for (auto item = items.begin(); item != items.end(); ++item) {
    if (item->empty()) return found_other(text, "a list without empty items, such as a,b");
    if (std::find(items.begin(), item, *item) != item) {
      return Status::invalid_input(fmt::format("found '{}' twice; expected each item once", *item));
    }
  }
  return items;
}

Result<std::vector<std::string>> split_lists(std::span<const std::string> texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts) {
    const Result<std::vector<std::string>> items = split_list(text);
    RECTO_RETURN_IF_ERROR(items.status());
    all.insert(all.end(), items.value().begin(), items.value().end());
  }
  return all;
}

}  // namespace recto::experiments
