#pragma once

// Shared by the tests of warp-wide operations: a block of two warps, in three dimensions.

#include <cstdint>
#include <cstring>
#include <vector>

#include "verify/simt/dialect/testdata/warp_kernels.cuh"
#include "verify/simt/executor/executor.h"

namespace recto::simt {

inline constexpr int kThreads = 64;
inline constexpr unsigned kAllLanes = 0xffffffff;
inline const std::vector<unsigned> kMasks = {kAllLanes,  0x0000ffff, 0xff00ff00, 0x55555555,
                                             0x80000001, 0x00000010, 0x7ffffffe};

template <typename... Parameters, typename... Arguments>
LaunchReport run_block(void (*kernel)(Parameters...), Arguments... arguments) {
  static Executor executor({.schedule = {.policy = SchedulePolicy::kRandomThread, .seed = 5}});
  return launch(executor, {.kernel = "lanes", .grid = {1}, .block = {8, 4, 2}}, kernel,
                arguments...);
}

inline bool is_in(unsigned mask, int lane) { return (mask >> lane & 1) != 0; }

// Values are equal only if all their bytes are.
template <typename T>
T value_of(std::uint64_t bits) {
  T value = {};
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename T>
bool is_same(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace recto::simt
