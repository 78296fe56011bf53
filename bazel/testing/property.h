#pragma once

// Properties: statements about all values, as sections of a Catch2 test case.
//
//   TEST_CASE("reversal") {
//     property("twice gives the same", [](Draw& draw) {
//       const auto list = draw.list([](Draw& one) { return one.uniform(0, 9); });
//       RECTO_REQUIRE(reversed(reversed(list)) == list);
//     });
//   }
//
// A property is tried on 100 cases, on 1000 with RECTO_FULL=1, from small to large ones. The seed
// is fixed unless RC_PARAMS names one. A case that fails is shrunk: numbers to 0, elements to the
// first of their list, lists to fewer entries, each as far as the case still fails. The failure
// prints all drawn values, and the command that replays it. Broken contracts fail a case, and so
// does any exception.

#include <any>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto {

class Draw;

namespace internal {

// A value of any type, and how it is printed.
struct AnyValue {
  std::any value;
  std::string (*text)(const std::any&) = nullptr;

  template <typename T>
  const T& as() const {
    return std::any_cast<const T&>(value);
  }
};

template <typename T>
AnyValue any_value(T value) {
  return {std::move(value), [](const std::any& any) {
            return Catch::Detail::stringify(std::any_cast<const T&>(any));
          }};
}

using Maker = std::function<AnyValue(Draw&)>;

struct ListSpec {
  std::optional<std::size_t> length = {};  // nullopt: depends on the case's size
  std::size_t length_min = 0;
  Maker entry = {};
  std::function<AnyValue(const std::vector<AnyValue>&)> whole = {};
};

// How a value is drawn from 64 random bits, and what simpler values it has.
struct CustomSpec {
  std::function<AnyValue(std::uint64_t)> make;
  std::function<std::vector<AnyValue>(const AnyValue&)> simpler;
};

struct DrawAccess;

}  // namespace internal

// The source of values for a property and its generators, which are functions that take a Draw. The
// name of a value is printed with it. Functions passed to a Draw must own their captures, because
// shrinking calls them after the property has returned.
class Draw {
 public:
  Draw(const Draw&) = delete;
  Draw& operator=(const Draw&) = delete;

  // In [first, last]: any value in every case, or only values near `first` in the first cases.
  template <std::integral T = std::int64_t>
  T uniform(std::type_identity_t<T> first, std::type_identity_t<T> last,
            std::string_view name = {}) {
    return static_cast<T>(integer(to_int64(first), to_int64(last), Growth::kNone, name));
  }
  template <std::integral T = std::int64_t>
  T growing(std::type_identity_t<T> first, std::type_identity_t<T> last,
            std::string_view name = {}) {
    return static_cast<T>(integer(to_int64(first), to_int64(last), Growth::kWithSize, name));
  }

  bool boolean(std::string_view name = "boolean");

  // For a RandomStream; the number of its bits grows.
  std::uint64_t seed(std::string_view name = "seed");

  template <typename Range>
  auto element(const Range& choices, std::string_view name = "element") {
    using T = std::iter_value_t<decltype(std::begin(choices))>;
    const auto all = std::make_shared<const std::vector<T>>(std::begin(choices), std::end(choices));
    const auto at = [all](std::size_t i) { return internal::any_value<T>((*all)[i]); };
    return any_element(all->size(), at, name).template as<T>();
  }
  template <typename T>
  T element(std::initializer_list<T> choices, std::string_view name = "element") {
    return element<std::initializer_list<T>>(choices, name);
  }

  // A vector of results of `entry`, with up to 100 entries in the largest cases.
  template <typename Entry>
  auto list(Entry entry, std::string_view name = "list") {
    return vector_of(std::move(entry), {}, name);
  }
  template <typename Entry>
  auto nonempty_list(Entry entry, std::string_view name = "list") {
    return vector_of(std::move(entry), {.length_min = 1}, name);
  }
  template <typename Entry>
  auto list_of(std::size_t length, Entry entry, std::string_view name = "list") {
    return vector_of(std::move(entry), {.length = length}, name);
  }

  // The result of `make`, printed as one value instead of the values drawn in it.
  template <typename Make>
  auto composite(std::string_view name, Make make) {
    using T = std::invoke_result_t<Make, Draw&>;
    return any_composite(erased(std::move(make)), name).template as<T>();
  }

  // The result of `make` for 64 random bits; it shrinks to the values that `simpler` lists for it.
  template <typename Make, typename Simpler>
  auto custom(std::string_view name, Make make, Simpler simpler) {
    using T = std::invoke_result_t<Make, std::uint64_t>;
    internal::CustomSpec spec;
    spec.make = [make = std::move(make)](std::uint64_t bits) {
      return internal::any_value<T>(make(bits));
    };
    spec.simpler = [simpler = std::move(simpler)](const internal::AnyValue& value) {
      std::vector<internal::AnyValue> all;
      for (const T& one : simpler(value.as<T>())) all.push_back(internal::any_value<T>(one));
      return all;
    };
    return any_custom(std::move(spec), name).template as<T>();
  }

  // Counts the case under a label. The counts of labels are printed if the property holds.
  void classify(std::string_view label);

 private:
  friend struct internal::DrawAccess;

  enum class Growth : std::uint8_t { kNone, kWithSize };

  Draw() = default;

  template <typename T>
  static std::int64_t to_int64(T value) {
    return static_cast<std::int64_t>(value);
  }

  template <typename Make>
  static internal::Maker erased(Make make) {
    return [make = std::move(make)](Draw& draw) {
      return internal::any_value<std::invoke_result_t<Make, Draw&>>(make(draw));
    };
  }

  template <typename Entry>
  auto vector_of(Entry entry, internal::ListSpec spec, std::string_view name) {
    using T = std::invoke_result_t<Entry, Draw&>;
    spec.entry = erased(std::move(entry));
    spec.whole = [](const std::vector<internal::AnyValue>& entries) {
      std::vector<T> whole;
      for (const internal::AnyValue& one : entries) whole.push_back(one.as<T>());
      return internal::any_value(std::move(whole));
    };
    return any_list(std::move(spec), name).template as<std::vector<T>>();
  }

  std::int64_t integer(std::int64_t first, std::int64_t last, Growth growth, std::string_view name);
  internal::AnyValue any_element(std::size_t count,
                                 std::function<internal::AnyValue(std::size_t)> at,
                                 std::string_view name);
  internal::AnyValue any_list(internal::ListSpec spec, std::string_view name);
  internal::AnyValue any_composite(internal::Maker make, std::string_view name);
  internal::AnyValue any_custom(internal::CustomSpec spec, std::string_view name);
};

using PropertyBody = std::function<void(Draw&)>;

// A section of the running test case.
void property(const std::string& name, const PropertyBody& body);

// End the running case of a property: it fails, or does not count, and another case is drawn.
[[noreturn]] void fail_case(const std::string& message);
[[noreturn]] void discard_case();

// For tests of generators, and of properties themselves.
struct PropertyOptions {
  std::uint64_t seed = 2026;
  int cases = 100;
  int size_max = 100;  // sizes of cases are spread over [0, size_max]
};
struct PropertyResult {
  bool holds = false;
  std::string text;  // without the command to replay it
};
PropertyResult check_property(const PropertyBody& body, const PropertyOptions& options = {});

namespace internal {

struct RequireSite {
  const char* file;
  int line;
  const char* expression;
};

[[noreturn]] void fail_requirement(const Catch::ITransientExpression& operands,
                                   const RequireSite& site);

inline void require(const Catch::ITransientExpression& operands, const RequireSite& site) {
  if (!operands.getResult()) [[unlikely]]
    fail_requirement(operands, site);
}
template <typename Value>
void require(const Catch::ExprLhs<Value>& value, const RequireSite& site) {
  require(value.makeUnaryExpr(), site);
}

}  // namespace internal
}  // namespace recto

// Catch2 disables this warning, too, but a precompiled header does not keep pragmas.
#pragma GCC diagnostic ignored "-Wparentheses"

// REQUIRE for properties: fails the case, and prints both operands.
#define RECTO_REQUIRE(...) \
  ::recto::internal::require(Catch::Decomposer() <= __VA_ARGS__, {__FILE__, __LINE__, #__VA_ARGS__})
