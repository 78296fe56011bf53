#pragma once

// Messages of refused input: "FIELD: expected WHAT, got VALUE". The text is built only when a rule
// is broken, so that a valid call allocates nothing.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/contract.h"
#include "core/status.h"

namespace recto {

inline std::string field_name(const char* view, const char* field) {
  return std::string(view) + (*view == 0 ? "" : ".") + field;
}

// A field of a view and its value: {"kv.k", "num_blocks", 64} is kv.k.num_blocks = 64.
template <typename T>
struct Named {
  constexpr Named(const char* view_name, const char* name_of_field, T held)
      : view(view_name), field(name_of_field), value(held) {}

  std::string name() const { return field_name(view, field); }
  std::string text() const { return internal::describe(value); }

  const char* view;  // empty for a field of the call itself
  const char* field;
  T value;
};

using NamedSize = Named<std::int64_t>;

inline Status refusal(std::string_view field, std::string_view expected, std::string_view got) {
  return Status::invalid_input(std::string(field) + ": expected " + std::string(expected) +
                               ", got " + std::string(got));
}

// "fp32, fp16": the names of items.
template <typename Items, typename NameOf = std::identity>
std::string list_names(const Items& items, NameOf name_of = {}) {
  std::string names;
  for (const auto& item : items) {
    if (!names.empty()) names += ", ";
    names += std::invoke(name_of, item);
  }
  return names;
}

// "LIST[INDEX]FIELD": an element of a list, or a field of one.
inline std::string element_name(std::string_view list, std::int64_t index,
                                std::string_view field = "") {
  return std::string(list) + "[" + std::to_string(index) + "]" + std::string(field);
}

inline Status expect_at_least(const NamedSize& got, std::int64_t least) {
  if (got.value >= least) return Status::ok();
  return refusal(got.name(), "at least " + std::to_string(least), got.text());
}

inline Status expect_at_most(const NamedSize& got, std::int64_t most) {
  if (got.value <= most) return Status::ok();
  return refusal(got.name(), "at most " + std::to_string(most), got.text());
}

template <typename T>
Status expect_equal(const Named<T>& got, const Named<T>& other) {
  if (got.value == other.value) return Status::ok();
  return refusal(got.name(), other.text() + " as in " + other.name(), got.text());
}

// `of` must be at least 1.
inline Status expect_multiple(const NamedSize& got, const NamedSize& of) {
  if (got.value % of.value == 0) return Status::ok();
  return refusal(got.name(), "a multiple of " + of.name() + " = " + of.text(), got.text());
}

}  // namespace recto
