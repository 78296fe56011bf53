#pragma once

// Parses a text that is exactly one number, independently of the locale.

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace recto {

// Nothing unless `text` is exactly one decimal number that `Number` can hold.
template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace recto
