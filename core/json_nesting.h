#pragma once

namespace recto {

// How deep the JSON nests that is read: no file of ours comes near. Whoever prints or walks down a
// value recurses, so that a text of brackets alone would exhaust the stack.
inline constexpr int kJsonNestingMax = 64;

// For nlohmann's `parse`: leaves out what nests deeper.
inline constexpr auto within_nesting_max = [](int depth, auto /*event*/, const auto& /*parsed*/) {
  return depth < kJsonNestingMax;
};

}  // namespace recto
