#include "experiments/support/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace recto::experiments {

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
  // Limits lie where rounding would add a digit.
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

}  // namespace recto::experiments
