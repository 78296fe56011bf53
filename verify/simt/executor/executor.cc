#include "verify/simt/executor/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "verify/simt/executor/fault_guard.h"
#include "verify/simt/executor/observer.h"
#include "verify/simt/executor/scheduler.h"

namespace recto::simt {

Executor::Executor(ExecutorOptions options) : options_(options) {}
Executor::~Executor() = default;

std::optional<Finding> Executor::why_refused(const LaunchConfig& config,
                                             const KernelCall& call) const {
  if (std::optional<Finding> invalid = why_invalid(config, call)) return invalid;
  const std::uint32_t period = options_.schedule.preemption_period;
  if (period == 0 || (observer_ != nullptr && observer_->preempts())) return std::nullopt;
  return Finding{
      .check = Check::kInvalidLaunch,
      .kernel = config.kernel,
      .what = fmt::format("preemption_period: expected 0 without an observer that preempts threads "
                          "at their accesses, such as AccessChecker, got {}",
                          period)};
}

std::size_t Executor::os_threads_for(const LaunchConfig& config) const {
  static const unsigned kMachine = std::thread::hardware_concurrency();
  if (config.is_cooperative || observer_ != nullptr) return 1;
  const std::uint64_t wanted = options_.os_threads > 0 ? options_.os_threads : kMachine;
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(wanted, 1, config.grid.count()));
}

LaunchReport Executor::launch(const LaunchConfig& config, const KernelCall& call) {
  LaunchReport report;
  if (std::optional<Finding> refused = why_refused(config, call)) {
    report.findings.push_back(*std::move(refused));
    return report;
  }
  if (std::ranges::find(kernels_, config.kernel) == kernels_.end()) {
    kernels_.emplace_back(config.kernel);
  }
  Launch launch(config, call, options_, observer_);
  const std::size_t workers = os_threads_for(config);
  while (schedulers_.size() < workers) {
    schedulers_.push_back(std::make_unique<Scheduler>(default_stack_bytes()));
  }
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < workers; ++i) {
    others.emplace_back([this, &launch, i] { run_blocks(launch, *schedulers_[i]); });
  }
  if (observer_ != nullptr) observer_->begin_launch(launch);
  run_blocks(launch, *schedulers_[0]);
  for (std::thread& other : others) other.join();
  if (observer_ != nullptr) observer_->end_launch();
  report.findings = launch.take_findings();
  report.switches = launch.switches;
  report.proxy_fences = launch.proxy_fences;
  report.touched = std::move(launch.touched);
  return report;
}

void Executor::run_blocks(Launch& launch, Scheduler& scheduler) const {
  const FaultGuard guard(options_.stall_seconds);
  const std::uint64_t count = launch.config.grid.count();
  if (launch.config.is_cooperative) {
    scheduler.run(launch, 0, count);
    return;
  }
  for (;;) {
    const std::uint64_t order = launch.next_block++;
    if (order >= count || order >= launch.stop_at) return;
    scheduler.run(launch, order, 1);
  }
}

}  // namespace recto::simt
