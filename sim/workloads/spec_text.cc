#include "sim/workloads/spec_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

namespace recto::sim {
namespace {

std::string_view take_until(char separator, std::string_view& rest) {
  const std::size_t end = rest.find(separator);
  const std::string_view head = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return head;
}

// Uses std::from_chars because it ignores the locale. The whole text must be consumed.
template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

SpecReader::SpecReader(std::string_view text) {
  const bool has_fields = text.find(':') != std::string_view::npos;
  kind_ = take_until(':', text);
  if (!has_fields) return;
  body_ = text;
  // n commas separate n + 1 fields; an empty field is an error.
  for (bool more = true; more;) {
    more = text.find(',') != std::string_view::npos;
    std::string_view field = take_until(',', text);
    if (field.empty()) fail("empty field after a ':' or ','");
    const bool is_named = field.find('=') != std::string_view::npos;
    std::string name(is_named ? take_until('=', field) : std::string_view());
    if (is_named && name.empty()) fail("a '=' without a field name before it");
    fields_.push_back({.name = std::move(name), .value = std::string(field)});
  }
}

double SpecReader::number(std::string_view name) { return to_number(name, require(name)); }

std::int64_t SpecReader::count(std::string_view name) { return to_count(name, require(name)); }

double SpecReader::number_or(std::string_view name, double fallback) {
  const std::optional<std::string> value = take(name);
  return value ? to_number(name, *value) : fallback;
}

std::int64_t SpecReader::count_or(std::string_view name, std::int64_t fallback) {
  const std::optional<std::string> value = take(name);
  return value ? to_count(name, *value) : fallback;
}

std::string_view SpecReader::whole() {
  for (Field& field : fields_) field.was_read = true;
  return body_;
}

std::vector<std::string> SpecReader::unnamed_values() {
  std::vector<std::string> values;
  for (Field& field : fields_) {
    if (field.was_read || !field.name.empty()) continue;
    field.was_read = true;
    values.push_back(field.value);
  }
  return values;
}

void SpecReader::fail(std::string message) {
  if (failure_.is_ok()) failure_ = Status::invalid_input(std::move(message));
}

Status SpecReader::finish() const {
  RECTO_RETURN_IF_ERROR(failure_);
  for (const Field& field : fields_) {
    if (field.was_read) continue;
    if (field.name.empty()) {
      return Status::invalid_input(fmt::format("too many values at '{}'", field.value));
    }
    return Status::invalid_input(fmt::format("unknown or repeated field '{}'", field.name));
  }
  return Status::ok();
}

std::optional<std::string> SpecReader::take(std::string_view name) {
  Field* found = nullptr;
  for (Field& field : fields_) {
    if (field.was_read) continue;
    if (field.name == name) {
      found = &field;
      break;
    }
    if (found == nullptr && field.name.empty()) found = &field;
  }
  if (found == nullptr) return std::nullopt;
  found->was_read = true;
  return found->value;
}

std::string SpecReader::require(std::string_view name) {
  std::optional<std::string> value = take(name);
  if (!value) fail(fmt::format("field {} is missing", name));
  return value.value_or("");
}

double SpecReader::to_number(std::string_view name, const std::string& value) {
  const std::optional<double> number = parse_whole<double>(value);
  if (number && std::isfinite(*number)) return *number;
  fail(fmt::format("field {}: expected a number, got '{}'", name, value));
  return 0;
}

std::int64_t SpecReader::to_count(std::string_view name, const std::string& value) {
  const std::optional<std::int64_t> count = parse_whole<std::int64_t>(value);
  if (count) return *count;
  fail(fmt::format("field {}: expected a whole number, got '{}'", name, value));
  return 0;
}

Status check_number(std::string_view field, double value, NumberRange range) {
  if (value >= range.min && value <= range.max) return Status::ok();
  return Status::invalid_input(
      fmt::format("field {}: expected {} to {}, got {}", field, range.min, range.max, value));
}

Status check_count(std::string_view field, std::int64_t value, CountRange range) {
  if (value >= range.min && value <= range.max) return Status::ok();
  return Status::invalid_input(
      fmt::format("field {}: expected {} to {}, got {}", field, range.min, range.max, value));
}

}  // namespace recto::sim
