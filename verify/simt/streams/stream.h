#pragma once

// A CUDA stream on the executor: the place where launches are put in order.

#include <cstddef>

#include "verify/simt/executor/executor.h"

namespace recto::simt {

class Stream {
 public:
  // The executor must outlive it.
  explicit Stream(Executor& executor) : executor_(executor) {}

  // Launches call(closure); the closure's bytes are copied, as a kernel's arguments are. False if
  // the launch itself is not valid, as CUDA's cudaErrorInvalidConfiguration.
  bool launch(const LaunchConfig& config, void (*call)(const void* closure), const void* closure,
              std::size_t bytes);

  // What was found in all launches so far, which are over when this returns.
  const LaunchReport& synchronise() { return report_; }

 private:
  Executor& executor_;
  LaunchReport report_;
};

}  // namespace recto::simt
