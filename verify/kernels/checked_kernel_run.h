#pragma once

// For tests: runs kernels under memory checks, and records which configurations were covered.

#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/element_type.h"
#include "core/paged_kv_view.h"
#include "verify/kernels/access_name.h"
#include "verify/kernels/device_call.h"
#include "verify/simt/checks/access_checker.h"

namespace recto::verify {

// Adds the number of accesses that each call's checker sees to `accesses`, which must outlive the
// calls.
inline KernelRun checked_run(const simt::Schedule& schedule, std::uint64_t& accesses) {
  return {.executor = {.schedule = schedule},
          .observer = [&accesses](const simt::DeviceMemory& memory) {
            return std::shared_ptr<simt::AccessChecker>(new simt::AccessChecker(memory, {}),
                                                        [&accesses](simt::AccessChecker* checker) {
                                                          accesses += checker->accesses();
                                                          delete checker;
                                                        });
          }};
}

// The schedules under which every configuration is checked.
inline constexpr std::array<simt::Schedule, 3> kCheckedSchedules = {{
    {.policy = simt::SchedulePolicy::kReverse, .seed = 3},
    {.policy = simt::SchedulePolicy::kRandomWarp, .seed = 4, .preemption_period = 50},
    {.policy = simt::SchedulePolicy::kRandomThread, .seed = 5, .preemption_period = 7},
}};

// Four policies with sixteen seeds in total, with frequent or occasional preemption.
inline simt::Schedule preempting_schedule(std::uint64_t seed) {
  return {.policy = simt::kSchedulePolicies[seed % 4],
          .seed = seed,
          .preemption_period = seed / 4 % 2 == 0 ? 7U : 50U};
}
inline constexpr std::uint64_t kPreemptingSeeds = 16;

inline constexpr std::array<KvLayout, 3> kCheckedLayouts = {
    KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked};

// How often each configuration has been run, and with how many checked accesses.
class RunCover {
 public:
  void add(const std::string& kernel, const std::string& configuration, std::uint64_t accesses) {
    Count& count = counts_[kernel][configuration];
    ++count.runs;
    count.accesses += accesses;
  }

  // The number of configurations with exactly `runs` runs and at least as many accesses in total.
  std::size_t complete(const std::string& kernel, int runs) const {
    std::size_t configurations = 0;
    const auto of_kernel = counts_.find(kernel);
    if (of_kernel == counts_.end()) return 0;
    for (const auto& [configuration, count] : of_kernel->second) {
      configurations += count.runs == runs && count.accesses >= static_cast<std::uint64_t>(runs);
    }
    return configurations;
  }

  // The number of configurations, of any kernel, whose names contain this word.
  std::size_t configurations_with(const std::string& word) const {
    std::size_t with = 0;
    for (const auto& [kernel, configurations] : counts_) {
      for (const auto& [configuration, count] : configurations) {
        with += configuration.find(word) != std::string::npos;
      }
    }
    return with;
  }

  void print() const {
    for (const auto& [kernel, configurations] : counts_) {
      for (const auto& [configuration, count] : configurations) {
        std::cout << fmt::format("{:13} {:32} {:3} runs {:9} accesses\n", kernel, configuration,
                                 count.runs, count.accesses);
      }
    }
  }

 private:
  struct Count {
    int runs = 0;
    std::uint64_t accesses = 0;
  };
  std::map<std::string, std::map<std::string, Count>> counts_;
};

}  // namespace recto::verify
