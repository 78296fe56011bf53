// The members of Json that do not need the JSON library; json.cc has the others.

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

Json::Json() = default;
Json::Json(std::nullptr_t) {}
Json::Json(std::string text) : held_(std::move(text)) {}
Json::Json(std::string_view text) : Json(std::string(text)) {}
Json::Json(const char* text) : Json(std::string(text)) {}
Json::Json(std::vector<Json> items) : held_(std::move(items)) {}
Json::Json(std::vector<Member> members) : held_(std::move(members)) {}

Json::Json(std::initializer_list<JsonItem> items) {
  if (!std::ranges::all_of(items, is_member)) {
    *this = array(items);
    return;
  }
  std::vector<Member> members;
  members.reserve(items.size());
  for (const JsonItem& item : items) {
    Json pair = item.taken();
    members.push_back({std::move(pair[0].as<std::string>()), std::move(pair[1])});
  }
  held_ = std::move(members);
}

Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::array(std::initializer_list<JsonItem> items) {
  std::vector<Json> list;
  list.reserve(items.size());
  for (const JsonItem& item : items) list.push_back(item.taken());
  return list;
}

Json Json::object() { return std::vector<Member>(); }

const char* Json::type_name() const {
  constexpr const char* kNames[] = {"null",   "boolean", "number", "number",
                                    "number", "string",  "array",  "object"};
  return kNames[held_.index()];
}

void Json::fail_as(const Json& expected) const {
  RECTO_CHECK_EQ(type_name(), std::string_view(expected.type_name()));
  RECTO_UNREACHABLE("it holds what was expected");
}

std::size_t Json::size() const {
  if (is_array()) return as<std::vector<Json>>().size();
  if (is_object()) return items().size();
  return is_null() ? 0 : 1;
}

const Json* Json::begin() const { return as<std::vector<Json>>().data(); }
const Json* Json::end() const { return begin() + size(); }
Json* Json::begin() { return as<std::vector<Json>>().data(); }
Json* Json::end() { return begin() + size(); }
const Json& Json::back() const { return (*this)[size() - 1]; }

const Json& Json::operator[](std::size_t index) const {
  RECTO_CHECK_LT(index, as<std::vector<Json>>().size());
  return as<std::vector<Json>>()[index];
}
Json& Json::operator[](std::size_t index) {
  RECTO_CHECK_LT(index, as<std::vector<Json>>().size());
  return as<std::vector<Json>>()[index];
}

void Json::push_back(Json item) {
  if (is_null()) *this = array();
  as<std::vector<Json>>().push_back(std::move(item));
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
  if (find(key) == nullptr) as<std::vector<Member>>().push_back({std::string(key), nullptr});
  return std::ranges::find(as<std::vector<Member>>(), key, &Member::key)->value;
}

void Json::erase(std::string_view key) {
  std::erase_if(as<std::vector<Member>>(),
                [key](const Member& member) { return member.key == key; });
}

void Json::update(Json members) {
  for (Member& member : members.as<std::vector<Member>>())
    (*this)[member.key] = std::move(member.value);
}

bool operator==(const Json& left, const Json& right) {
  if (left.is_number() && right.is_number()) {
    const bool is_real = left.is_number_float() || right.is_number_float();
    if (is_real) return left.get<double>() == right.get<double>();
    return left.get<std::uint64_t>() == right.get<std::uint64_t>() &&
           (left.held_.index() == right.held_.index() || left.get<std::int64_t>() >= 0);
  }
  return left.held_ == right.held_;
}

}  // namespace recto
