#pragma once

// Runs the kernels of one backend.

#include <memory>

#include "verify/backend.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {

// Calls share one executor and its stacks, because they are sequential. A repeated call has its own
// schedule: the policies in turn, each with its own seeds.
class KernelRunner {
 public:
  explicit KernelRunner(const KernelRun& how) : how_(how), executor_(how.executor) {}

  // Valid until the next call.
  simt::Executor& executor_for(const CallOptions& options) {
    if (options.repetition == 0) return executor_;
    simt::ExecutorOptions again = how_.executor;
    const auto policy = options.repetition % simt::kSchedulePolicies.size();
    again.schedule = {.policy = simt::kSchedulePolicies[policy], .seed = options.repetition};
    repeating_ = std::make_unique<simt::Executor>(again);
    return *repeating_;
  }
  const ObserverMaker& observer() const { return how_.observer; }

 private:
  KernelRun how_;
  simt::Executor executor_;
  std::unique_ptr<simt::Executor> repeating_;
};

}  // namespace recto::verify
