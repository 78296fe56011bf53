// The members of Json; json.cc has what the library does.

#include <algorithm>

#include "core/contract.h"
#include "core/json.h"

namespace recto {
namespace {

bool is_member(const JsonItem& item) {
  const Json& pair = item.json();
  return pair.is_array() && pair.size() == 2 && pair[0].is_string();
}

}  // namespace

Json::Json(std::string text) : kind_(Kind::kString) {
  held_.text = new std::string(std::move(text));
}
Json::Json(std::vector<Json> items) : kind_(Kind::kArray) {
  held_.items = new std::vector<Json>(std::move(items));
}
Json::Json(std::vector<Member> members) : kind_(Kind::kObject) {
  held_.members = new std::vector<Member>(std::move(members));
}

Json::Json(std::initializer_list<JsonItem> items) {
  const bool is_object = std::ranges::all_of(items, is_member);
  *this = is_object ? object() : array(items);
  if (!is_object) return;
  held_.members->reserve(items.size());
  for (const JsonItem& item : items) {
    Json pair = item.taken();
    held_.members->push_back({std::move(*pair[0].held_.text), std::move(pair[1])});
  }
}

Json Json::array(std::initializer_list<JsonItem> items) {
  std::vector<Json> list;
  list.reserve(items.size());
  for (const JsonItem& item : items) list.push_back(item.taken());
  return list;
}

Json Json::object() { return std::vector<Member>(); }

Json::Json(const Json& other) : kind_(other.kind_), held_(other.held_) {
  if (is_string()) held_.text = new std::string(*other.held_.text);
  if (is_array()) held_.items = new std::vector<Json>(*other.held_.items);
  if (is_object()) held_.members = new std::vector<Member>(*other.held_.members);
}

void Json::release() noexcept {
  if (is_string()) delete held_.text;
  if (is_array()) delete held_.items;
  if (is_object()) delete held_.members;
}

const char* Json::type_name() const {
  constexpr const char* kNames[] = {"null",   "boolean", "number", "number",
                                    "number", "string",  "array",  "object"};
  return kNames[static_cast<std::size_t>(kind_)];
}

bool Json::boolean() const {
  RECTO_CHECK_EQ(type_name(), std::string_view("boolean"));
  return held_.boolean;
}
double Json::real() const {
  RECTO_CHECK_EQ(type_name(), std::string_view("number"));
  return held_.real;
}
const std::string& Json::text() const {
  RECTO_CHECK_EQ(type_name(), std::string_view("string"));
  return *held_.text;
}
std::vector<Json>& Json::array_items() const {
  RECTO_CHECK_EQ(type_name(), std::string_view("array"));
  return *held_.items;
}
std::vector<Json::Member>& Json::object_members() const {
  RECTO_CHECK_EQ(type_name(), std::string_view("object"));
  return *held_.members;
}

std::size_t Json::size() const {
  if (is_array()) return held_.items->size();
  if (is_object()) return held_.members->size();
  return is_null() ? 0 : 1;
}

const Json* Json::begin() const { return array_items().data(); }
const Json* Json::end() const { return begin() + size(); }
Json* Json::begin() { return array_items().data(); }
Json* Json::end() { return begin() + size(); }
const Json& Json::back() const { return (*this)[size() - 1]; }

const Json& Json::operator[](std::size_t index) const {
  RECTO_CHECK_LT(index, array_items().size());
  return array_items()[index];
}
Json& Json::operator[](std::size_t index) {
  RECTO_CHECK_LT(index, array_items().size());
  return array_items()[index];
}

void Json::push_back(Json item) {
  if (is_null()) *this = array();
  array_items().push_back(std::move(item));
}

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  const auto found = std::ranges::find(items(), key, &Member::key);
  return found == items().end() ? nullptr : &found->value;
}

Json Json::value(std::string_view key, Json otherwise) const {
  const Json* const found = find(key);
  return found == nullptr ? otherwise : *found;
}

const Json& Json::operator[](std::string_view key) const {
  const Json* const found = find(key);
  if (found == nullptr) {
    internal::fail_condition(__FILE__, __LINE__, "an object has the member", key);
  }
  return *found;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) *this = object();
  if (find(key) == nullptr) object_members().push_back({std::string(key), nullptr});
  return std::ranges::find(object_members(), key, &Member::key)->value;
}

void Json::erase(std::string_view key) {
  std::erase_if(object_members(), [key](const Member& member) { return member.key == key; });
}

void Json::update(Json members) {
  for (Member& member : members.object_members()) (*this)[member.key] = std::move(member.value);
}

bool operator==(const Json& left, const Json& right) {
  if (left.is_number() && right.is_number()) {
    const bool is_real = left.is_number_float() || right.is_number_float();
    if (is_real) return left.get<double>() == right.get<double>();
    return left.get<std::uint64_t>() == right.get<std::uint64_t>() &&
           (left.kind_ == right.kind_ || left.get<std::int64_t>() >= 0);
  }
  if (left.kind_ != right.kind_) return false;
  if (left.is_boolean()) return left.held_.boolean == right.held_.boolean;
  if (left.is_string()) return left.text() == right.text();
  if (left.is_array()) return left.array_items() == right.array_items();
  return left.is_null() || left.items() == right.items();
}

}  // namespace recto
