#include "core/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "core/contract.h"

namespace recto {
namespace {

using Library = nlohmann::ordered_json;

Library to_library(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    Library::array_t items;
    items.reserve(json.size());
    for (const Json& item : json) items.push_back(to_library(item));
    return items;
  }
  if (json.is_object()) {
    Library::object_t members;
    members.reserve(json.size());
    // Reads all members in one pass: the library's own insertion searches all earlier keys each
    // time.
    for (const auto& [key, value] : json.items()) members.emplace_back(key, to_library(value));
    return members;
  }
  return nullptr;
}

// Builds a value from the library's parser events. An array or object is kept apart until it ends.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& /*text*/) { return add(value); }
  bool string(std::string& text) { return add(std::move(text)); }
  bool binary(Library::binary_t& /*bytes*/) { RECTO_UNREACHABLE("text has no binary values"); }

  bool start_object(std::size_t /*unknown*/) { return start({.is_object = true}); }
  bool key(std::string& key) {
    if (left_out_ > 0 || open_.size() == kJsonNestingMax) return true;
    Open& object = open_.back();
    object.key = std::move(key);
    if (object.places.contains(object.key)) {
      reading_.repeated.push_back({path_of_last(), object.key});
    }
    return true;
  }
  bool end_object() {
    if (is_left_out()) return true;
    std::vector<Json::Member> members = std::move(open_.back().members);
    open_.pop_back();
    return add(std::move(members));
  }

  bool start_array(std::size_t /*unknown*/) { return start({.is_object = false}); }
  bool end_array() {
    if (is_left_out()) return true;
    std::vector<Json> items = std::move(open_.back().items);
    open_.pop_back();
    return add(std::move(items));
  }

  bool parse_error(std::size_t byte, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) {
    constexpr int kNumberOutOfRange = 406;
    reading_.fault = error.id == kNumberOutOfRange ? JsonReading::Fault::kRange
                     : byte > text_.size()         ? JsonReading::Fault::kEndsEarly
                                                   : JsonReading::Fault::kSyntax;
    // `byte` counts from 1 and is the position of the first invalid byte.
    const std::string_view before = text_.substr(0, byte - std::min<std::size_t>(byte, 1));
    reading_.line = 1 + std::count(before.begin(), before.end(), '\n');
    return false;
  }

  JsonReading finish() && {
    if (reading_.fault != JsonReading::Fault::kNone) reading_.json = nullptr;
    return std::move(reading_);
  }

 private:
  // An array or object that has not ended yet.
  struct Open {
    bool is_object;
    std::vector<Json> items = {};
    std::vector<Json::Member> members = {};
    std::unordered_map<std::string, std::size_t> places = {};  // index in `members` of each key
    std::string key = {};                                      // key of the next member
  };

  bool start(Open open) {
    if (left_out_ > 0 || open_.size() == kJsonNestingMax) {
      ++left_out_;
    } else {
      open_.push_back(std::move(open));
    }
    return true;
  }
  // Called at the end of an array or object: returns whether it was nested too deep.
  bool is_left_out() {
    if (left_out_ == 0) return false;
    --left_out_;
    return true;
  }

  bool add(Json value) {
    if (left_out_ > 0 || open_.size() == kJsonNestingMax) return true;
    if (open_.empty()) {
      reading_.json = std::move(value);
      return true;
    }
    Open& in = open_.back();
    if (!in.is_object) {
      in.items.push_back(std::move(value));
      return true;
    }
    const auto [place, is_new] = in.places.try_emplace(in.key, in.members.size());
    if (is_new) {
      in.members.push_back({std::move(in.key), std::move(value)});
    } else {
      in.members[place->second].value = std::move(value);
    }
    return true;
  }

  std::string path_of_last() const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const Open& part = open_[i];
      path += part.is_object ? (i == 0 ? "" : ".") + part.key
                             : "[" + std::to_string(part.items.size()) + "]";
    }
    return path;
  }

  std::string_view text_;
  JsonReading reading_;
  std::vector<Open> open_;
  std::size_t left_out_ = 0;  // open arrays and objects that are nested too deep
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Json& json) { return out << json_text(json); }

std::string json_text(const Json& json, int indent) {
  return to_library(json).dump(indent, ' ', /*ensure_ascii=*/false,
                               Library::error_handler_t::replace);
}

std::string RepeatedKey::path() const {
  if (object.empty()) return key.empty() ? "''" : key;
  return object + "." + key;
}

Status JsonReading::status() const {
  const std::string place = "line " + std::to_string(line);
  switch (fault) {
    case Fault::kNone:
      return Status::ok();
    case Fault::kSyntax:
      return Status::invalid_input(place + ": expected JSON");
    case Fault::kEndsEarly:
      return Status::invalid_input(place + ": expected JSON; the text ends early");
    case Fault::kRange:
      return Status::invalid_input("expected numbers within the range of a double");
  }
  RECTO_UNREACHABLE("no such fault");
}

JsonReading read_json(std::string_view text) {
  Reader reader(text);
  Library::sax_parse(text.begin(), text.end(), &reader);
  return std::move(reader).finish();
}

Result<Json> parse_json(std::string_view text) {
  JsonReading reading = read_json(text);
  RECTO_RETURN_IF_ERROR(reading.status());
  return std::move(reading.json);
}

std::pair<std::string, std::string> json_library() {
  return {"nlohmann-json", std::to_string(NLOHMANN_JSON_VERSION_MAJOR) + "." +
                               std::to_string(NLOHMANN_JSON_VERSION_MINOR) + "." +
                               std::to_string(NLOHMANN_JSON_VERSION_PATCH)};
}

}  // namespace recto
