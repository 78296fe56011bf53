#include "verify/generators/field_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/json_nesting.h"
#include "core/json_output.h"

namespace recto::verify {
namespace {

// Finds repeated keys, which are a mistake worth naming: the DOM silently keeps the last value.
class RepeatedKeys {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    if (depth >= kJsonNestingMax) return false;
    const auto level = static_cast<std::size_t>(depth);
    const bool is_object = event == Json::parse_event_t::object_start;
    const bool is_start = is_object || event == Json::parse_event_t::array_start;
    if (level > 0 && (is_start || event == Json::parse_event_t::value)) ++open_[level - 1].items;
    // The end of a discarded object is not reported, so entries are indexed by depth, not pushed.
    if (is_start) open_[level] = {.is_object = is_object};
    if (event == Json::parse_event_t::key) {
      Open& object = open_[level - 1];
      object.key = parsed.get<std::string>();
      if (!object.keys.insert(object.key).second && first_.empty()) first_ = path_to(level);
    }
    return true;
  }

  // The path of the first repeated key; empty if there is none.
  const std::string& first() const { return first_; }

 private:
  // An object or a list that is open.
  struct Open {
    bool is_object = true;
    std::set<std::string> keys = {};
    std::string key = {};    // the last one
    std::int64_t items = 0;  // begun so far
  };

  std::string path_to(std::size_t level) const {
    std::string path;
    for (std::size_t i = 0; i < level; ++i) {
      const Open& part = open_[i];
      path += part.is_object ? (i == 0 ? "" : ".") + part.key : fmt::format("[{}]", part.items - 1);
    }
    return path.empty() ? "''" : path;
  }

  std::array<Open, kJsonNestingMax> open_;
  std::string first_;
};

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
  const auto found = object_->find(name);
  return found == object_->end() ? nullptr : &*found;
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
    if (known_.contains(key)) continue;
    std::string known;
    for (const std::string& name : known_) known += (known.empty() ? "" : ", ") + name;
    fail_found(key, "no such field but " + known, value);
  }
  return status_;
}

Result<Json> parse_json_object(std::string_view text) {
  RepeatedKeys repeated;
  Json object;
  try {
    object = Json::parse(text.begin(), text.end(), std::ref(repeated));
  } catch (const Json::parse_error& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size()));
    const char* const why = error.byte > text.size() ? ", and the text ends early" : "";
    return Status::invalid_input(
        fmt::format("line {}: expected JSON{}", 1 + std::count(text.begin(), end, '\n'), why));
  } catch (const Json::exception&) {
    return Status::invalid_input("expected numbers that a double holds");
  }
  if (!object.is_object()) return Status::invalid_input("expected one JSON object");
  if (!repeated.first().empty()) {
    return Status::invalid_input(repeated.first() + ": expected once, and it stands there twice");
  }
  return object;
}

}  // namespace recto::verify
