#pragma once

// Runs launches of CUDA kernels on this machine's cores: a fiber for each CUDA thread, one thread
// block at a time on each OS thread.

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/unobserved.h"

namespace recto::simt {

class Scheduler;

// Runs one launch at a time.
class Executor {
 public:
  explicit Executor(ExecutorOptions options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const ExecutorOptions& options() const { return options_; }
  void set_options(const ExecutorOptions& options) { options_ = options; }

  // The observer is notified from the next launch on; null removes it. While there is one, all
  // thread blocks run on one OS thread. It must outlive the launches.
  void set_observer(Observer* observer) { observer_ = observer; }
  Observer* observer() const { return observer_; }

  // Runs the whole grid and reports all findings. If the kernel cannot continue after a finding,
  // the launch ends after that thread block.
  LaunchReport launch(const LaunchConfig& config, const KernelCall& call);

  // The names of all kernels launched so far, each once, in the order of their first launches.
  const std::vector<std::string>& kernels() const { return kernels_; }

 private:
  std::optional<Finding> why_refused(const LaunchConfig& config, const KernelCall& call) const;
  std::size_t os_threads_for(const LaunchConfig& config) const;
  void run_blocks(Launch& launch, Scheduler& scheduler) const;

  ExecutorOptions options_;
  Observer* observer_ = nullptr;
  std::vector<std::string> kernels_;
  std::vector<std::unique_ptr<Scheduler>> schedulers_;  // one per OS thread
};

// A kernel with its arguments, by value, as in CUDA: one CUDA thread calls it. (No standard library
// here: launches may be in files whose memory accesses are observed.)
template <typename... Parameters>
auto bind_kernel(void (*kernel)(Parameters...), Parameters... arguments) {
  return [=]() RECTO_SIMT_UNOBSERVED { kernel(arguments...); };
}
template <typename Bound, typename Kernel>
KernelCall call_of(const Bound& bound, Kernel* kernel) {
  const auto call = [](const void* closure)
                        RECTO_SIMT_UNOBSERVED { (*static_cast<const Bound*>(closure))(); };
  return {kernel == nullptr ? nullptr : +call, &bound};
}

template <typename... Parameters>
LaunchReport launch(Executor& executor, const LaunchConfig& config, void (*kernel)(Parameters...),
                    std::type_identity_t<Parameters>... arguments) {
  const auto bound = bind_kernel<Parameters...>(kernel, arguments...);
  return executor.launch(config, call_of(bound, kernel));
}

}  // namespace recto::simt
