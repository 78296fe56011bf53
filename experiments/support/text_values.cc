#include "experiments/support/text_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

namespace recto::experiments {
namespace {

// Nothing where `text` is more or less than a number.
template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

template <typename Number, typename Range>
Result<Number> number_within(std::string_view text, Range range) {
  const std::optional<Number> value = number_in<Number>(text);
  // Written so that a NaN fails.
  if (value && *value >= range.min && *value <= range.max) return *value;
  return found_other(text, range_text(range));
}

}  // namespace

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

Result<std::vector<std::string>> split_list(std::string_view text) {
  std::vector<std::string> items;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) {
      return found_other(text, "a list without empty items, such as a,b");
    }
    items.emplace_back(text.substr(begin, end - begin));
    if (std::ranges::count(items, items.back()) > 1) {
      return Status::invalid_input(
          fmt::format("found '{}' twice; expected each item once", items.back()));
    }
    if (end == text.size()) return items;
    begin = end + 1;
  }
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
