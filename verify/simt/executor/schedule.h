#pragma once

// The order in which the threads of a thread block run. CUDA allows all of these orders, and the
// same seed gives the same order on any number of OS threads.

#include <array>
#include <cstdint>

namespace recto::simt {

enum class SchedulePolicy : std::uint8_t {
  kInOrder,       // the next ready thread
  kReverse,       // the previous ready thread; thread blocks also run from last to first
  kRandomWarp,    // any ready warp, its lanes in order
  kRandomThread,  // any ready thread
};

inline constexpr std::array<SchedulePolicy, 4> kSchedulePolicies = {
    SchedulePolicy::kInOrder, SchedulePolicy::kReverse, SchedulePolicy::kRandomWarp,
    SchedulePolicy::kRandomThread};

constexpr const char* schedule_policy_name(SchedulePolicy policy) {
  constexpr const char* kNames[] = {"in-order", "reverse", "random-warp", "random-thread"};
  return kNames[static_cast<int>(policy)];
}

struct Schedule {
  SchedulePolicy policy = SchedulePolicy::kInOrder;
  std::uint64_t seed = 0;
  // A thread is interrupted at one in this many memory accesses, in builds that observe them; 0:
  // never. A launch that asks for this without an observer that can preempt is refused.
  std::uint32_t preemption_period = 0;
};

}  // namespace recto::simt
