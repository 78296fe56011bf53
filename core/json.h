#pragma once

// JSON values, and conversion from and to text. Only json.cc includes the library that parses and
// prints: including it adds seconds of compile time to a file, and it reports errors by throwing.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/status.h"

namespace recto {

class JsonItem;

template <typename T>
concept JsonNumber = std::is_arithmetic_v<T>;

// A container that is not a text.
template <typename T>
concept JsonItems = !std::is_convertible_v<const T&, std::string_view> && requires(const T& items) {
  items.begin() != items.end();
};

// Holds null, true or false, a number, a text, an array, or an object, whose members keep their
// order. Reading a value as a type that it does not have is a broken contract: call is_...() first.
class Json {
 public:
  struct Member;

  // Constructors are defined where Member is complete, which clang++ needs.
  Json();
  Json(std::nullptr_t);
  template <JsonNumber Number>
  Json(Number value);
  Json(std::string text);
  Json(std::string_view text);
  Json(const char* text);
  Json(std::vector<Json> items);
  Json(std::vector<Member> members);
  // A container becomes an array; a map from texts becomes an object.
  template <JsonItems Items>
  Json(const Items& items) : Json(of_items(items)) {}
  // {{"a", 1}, {"b", 2}} becomes an object, as does any list of pairs that begin with a text; {1,
  // 2} becomes an array.
  Json(std::initializer_list<JsonItem> items);

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(const Json& other);
  Json& operator=(Json&& other) noexcept;
  ~Json();

  static Json array(std::initializer_list<JsonItem> items = {});
  static Json object();

  bool is_null() const { return holds<std::nullptr_t>(); }
  bool is_boolean() const { return holds<bool>(); }
  bool is_number() const { return is_number_integer() || is_number_float(); }
  bool is_number_integer() const { return holds<std::int64_t>() || is_number_unsigned(); }
  // As parsed: an integer without a sign.
  bool is_number_unsigned() const { return holds<std::uint64_t>(); }
  bool is_number_float() const { return holds<double>(); }
  bool is_string() const { return holds<std::string>(); }
  bool is_array() const { return holds<std::vector<Json>>(); }
  bool is_object() const { return holds<std::vector<Member>>(); }
  const char* type_name() const;  // "null", "boolean", "number", "string", "array" or "object"

  // The value as a bool, a number (converted as by static_cast), a std::string, or a vector of one
  // of these.
  template <typename T>
  T get() const {
    if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
      return as<T>();
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (const auto* integer = std::get_if<std::int64_t>(&held_)) return static_cast<T>(*integer);
      if (is_number_unsigned()) return static_cast<T>(as<std::uint64_t>());
      return static_cast<T>(as<double>());
    } else {
      T items;
      for (const Json& item : *this) items.push_back(item.get<typename T::value_type>());
      return items;
    }
  }

  // The number of items of an array or members of an object; 0 for null, 1 for other values.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  // Iterates over the items of an array.
  const Json* begin() const;
  const Json* end() const;
  Json* begin();
  Json* end();
  const Json& back() const;
  const Json& operator[](std::size_t index) const;
  Json& operator[](std::size_t index);
  // Null becomes an array first.
  void push_back(Json item);

  // The members of an object. Finding one takes O(members).
  const std::vector<Member>& items() const { return as<std::vector<Member>>(); }
  const Json* find(std::string_view key) const;  // null if this is no object or lacks the key
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  Json value(std::string_view key, Json otherwise) const;
  const Json& operator[](std::string_view key) const;  // precondition: the member exists
  // Adds the member with the value null if it is missing. Null becomes an object first.
  Json& operator[](std::string_view key);
  void erase(std::string_view key);
  // Sets each member of `members` in this object.
  void update(Json members);

  // Compares numbers by value, and objects including the order of their members.
  friend bool operator==(const Json& left, const Json& right);
  friend std::ostream& operator<<(std::ostream& out, const Json& json);

 private:
  template <typename Items>
  static Json of_items(const Items& items);
  template <typename T>
  bool holds() const {
    return std::holds_alternative<T>(held_);
  }
  // A broken contract if the value has another type.
  template <typename T>
  const T& as() const {
    if (!holds<T>()) fail_as(Json(T()));
    return std::get<T>(held_);
  }
  template <typename T>
  T& as() {
    return const_cast<T&>(std::as_const(*this).as<T>());
  }
  [[noreturn]] void fail_as(const Json& expected) const;

  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string,
               std::vector<Json>, std::vector<Member>>
      held_;
};

struct Json::Member {
  std::string key;
  Json value;

  friend bool operator==(const Member&, const Member&) = default;
};

template <JsonNumber Number>
Json::Json(Number value) {
  if constexpr (std::is_same_v<Number, bool>) {
    held_ = value;
  } else if constexpr (std::is_floating_point_v<Number>) {
    held_ = static_cast<double>(value);
  } else if constexpr (std::is_signed_v<Number>) {
    held_ = static_cast<std::int64_t>(value);
  } else {
    held_ = static_cast<std::uint64_t>(value);
  }
}

// An item of a list in braces. (A std::initializer_list of Json could only be copied from.)
class JsonItem {
 public:
  template <typename T>
  JsonItem(T&& value) : json_(std::forward<T>(value)) {}
  JsonItem(std::initializer_list<JsonItem> items) : json_(items) {}

  const Json& json() const { return json_; }
  Json taken() const { return std::move(json_); }

 private:
  mutable Json json_;
};

template <typename Items>
Json Json::of_items(const Items& items) {
  if constexpr (requires { items.begin()->second; }) {
    std::vector<Member> members;
    for (const auto& [key, value] : items) members.push_back({std::string(key), value});
    return members;
  } else {
    std::vector<Json> list;
    for (const auto& item : items) list.push_back(item);
    return list;
  }
}

// Prints JSON as text, on one line if `indent` is negative. File names and other libraries'
// messages may hold any bytes; bytes that are not UTF-8 are printed as U+FFFD.
std::string json_text(const Json& json, int indent = -1);

// The deepest nesting that is read; anything nested deeper is left out. recto's own files are far
// below this limit. Code that prints or walks a value recurses, so without a limit a text of
// brackets alone would exhaust the stack.
inline constexpr std::size_t kJsonNestingMax = 64;

// A key that occurs twice in one object. The value then holds the last member, at the first one's
// position.
struct RepeatedKey {
  std::string object;  // the path of the object: "cases[2].shape"; empty for the outermost one
  std::string key;

  std::string path() const;
};

// The result of reading a text: its value, or why it is not JSON.
struct JsonReading {
  enum class Fault {
    kNone,
    kSyntax,
    kEndsEarly,
    kRange,  // a number out of the range of a double
  };

  Json json;  // null if there is a fault
  Fault fault = Fault::kNone;
  std::int64_t line = 1;              // line of the fault, counted from 1
  std::vector<RepeatedKey> repeated;  // in the order of the text

  // A message that names the fault, but not the file.
  Status status() const;
};

JsonReading read_json(std::string_view text);

// The same, for callers that ignore repeated keys.
Result<Json> parse_json(std::string_view text);

// The name and version of the JSON library.
std::pair<std::string, std::string> json_library();

}  // namespace recto
