#pragma once

// In which order the threads of a thread block run. All orders are within what CUDA allows, and the
// same seed gives the same one on any number of OS threads.

#include <array>
#include <cstdint>

namespace recto::simt {

enum class SchedulePolicy : std::uint8_t {
  kInOrder,       // the next ready thread
  kReverse,       // the previous one; thread blocks from the last to the first, too
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
  // Of being interrupted at a memory access, in builds that observe these; one in so many, 0:
  // never. A launch that asks for it without such an observer is refused.
  std::uint32_t preemption_period = 0;
};

}  // namespace recto::simt
