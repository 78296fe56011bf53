#include "verify/cases/field_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/json.h"

namespace recto::verify {
namespace {

std::string found_text(const Json& value) {
  constexpr std::size_t kLongest = 40;
  const std::string text = json_text(value);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

}  // namespace

FieldReader::FieldReader(const Json& object, std::string path)
    : object_(object.is_object() ? &object : nullptr), path_(std::move(path)) {
  if (object_ == nullptr) fail("", "an object", found_text(object));
}

std::string FieldReader::path_of(std::string_view name) const {
  if (path_.empty() || name.empty()) return path_ + std::string(name);
  return path_ + "." + std::string(name);
}

const Json* FieldReader::find(const char* name) {
  known_.insert(name);
  if (object_ == nullptr) return nullptr;
  return object_->find(name);
}

const Json* FieldReader::require(const char* name, std::string_view expected) {
  const Json* found = find(name);
  if (found == nullptr && object_ != nullptr) fail(name, expected, "no such field");
  return found;
}

void FieldReader::read(const char* name, std::int64_t& value) {
  const Json* found = require(name, "an integer");
  if (found == nullptr) return;
  const bool fits =
      found->is_number_integer() &&
      !(found->is_number_unsigned() && found->get<std::uint64_t>() > std::uint64_t{INT64_MAX});
  if (!fits) return fail_found(name, "an integer", *found);
  value = found->get<std::int64_t>();
}

void FieldReader::read(const char* name, std::uint64_t& value) {
  constexpr const char* kExpected = "an integer from 0 to 2^64 - 1";
  const Json* found = require(name, kExpected);
  if (found == nullptr) return;
  if (!found->is_number_unsigned()) return fail_found(name, kExpected, *found);
  value = found->get<std::uint64_t>();
}

void FieldReader::read(const char* name, float& value) {
  const Json* found = require(name, "a number of fp32");
  if (found == nullptr) return;
  const double number = found->is_number() ? found->get<double>() : NAN;
  if (!std::isfinite(static_cast<float>(number))) {
    return fail_found(name, "a number of fp32", *found);
  }
  value = static_cast<float>(number);
}

std::optional<bool> FieldReader::read_truth(const char* name) {
  const Json* found = require(name, "true or false");
  if (found == nullptr) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>();
  fail_found(name, "true or false", *found);
  return std::nullopt;
}

void FieldReader::read(const char* name, std::string& value) {
  const Json* found = require(name, "a text");
  if (found == nullptr) return;
  if (!found->is_string()) return fail_found(name, "a text", *found);
  value = found->get<std::string>();
}

void FieldReader::read(const char* name, std::optional<std::int64_t>& value) {
  const Json* found = require(name, "an integer or null");
  if (found == nullptr) return;
  if (found->is_null()) return value.reset();
  std::int64_t number = 0;
  read(name, number);
  value = number;
}

void FieldReader::fail(std::string_view name, std::string_view expected, std::string_view found) {
  const std::string path = path_of(name);
  merge(Status::invalid_input(
      fmt::format("{}{}expected {}, found {}", path, path.empty() ? "" : ": ", expected, found)));
}

void FieldReader::fail_found(std::string_view name, std::string_view expected, const Json& found) {
  fail(name, expected, found_text(found));
}

void FieldReader::merge(const Status& status) {
  if (status_.is_ok()) status_ = status;
}

Status FieldReader::finish() {
  if (object_ == nullptr) return status_;
  for (const auto& [key, value] : object_->items()) {
    if (!known_.contains(key)) fail_found(key, "only the fields " + list_names(known_), value);
  }
  return status_;
}

Result<Json> parse_json_object(std::string_view text) {
  JsonReading reading = read_json(text);
  RECTO_RETURN_IF_ERROR(reading.status());
  if (!reading.json.is_object()) return Status::invalid_input("expected one JSON object");
  if (!reading.repeated.empty()) {
    return Status::invalid_input(reading.repeated.front().path() + ": given twice; expected once");
  }
  return std::move(reading.json);
}

}  // namespace recto::verify
