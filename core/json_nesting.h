#pragma once

namespace recto {

// The deepest nesting of JSON that is read; recto's own files come nowhere near it. Code that
// prints or walks a value recurses, so without a limit a text of nothing but brackets would exhaust
// the stack.
inline constexpr int kJsonNestingMax = 64;

// A callback for nlohmann's `parse` that discards values nested deeper.
inline constexpr auto within_nesting_max = [](int depth, auto /*event*/, const auto& /*parsed*/) {
  return depth < kJsonNestingMax;
};

}  // namespace recto
