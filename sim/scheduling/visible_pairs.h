#pragma once

#include <algorithm>
#include <cstdint>

namespace recto::sim {

// Counts the (query, key) pairs that causal attention computes for queries [context, context +
// count) of a sequence: query i sees the keys (i - window, i], or all up to i if the window is 0.
// O(1).
inline std::int64_t visible_pairs(std::int64_t context, std::int64_t count, std::int64_t window) {
  const std::int64_t end = context + count;
  // Query i sees i + 1 keys while that is within the window, and `window` keys from then on.
  const std::int64_t growing_end = window == 0 ? end : std::clamp(window, context, end);
  const std::int64_t growing = growing_end - context;
  const std::int64_t pairs = growing * context + growing * (growing + 1) / 2;
  return pairs + (end - growing_end) * window;
}

}  // namespace recto::sim
