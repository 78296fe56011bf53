#pragma once

// What a host program asks of a device: launches, copies and events on streams, and graphs of them.
// CUDA promises the order within a stream and the order that events make, and nothing else. Here
// operations run in an order that is as unkind as these promises allow, so that a dependency that
// the host program forgot shows in its results.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/random_stream.h"
#include "verify/simt/executor/executor.h"

namespace recto::simt {

enum class HostOrder : std::uint8_t {
  kEager,   // each operation as soon as it may: on the device's side nothing is ever late
  kLate,    // nothing before somebody waits for it, and of what may run the newest first
  kRandom,  // anything that may run, at any time
};

struct HostOptions {
  HostOrder order = HostOrder::kEager;
  std::uint64_t seed = 0;
};

// Operations are numbered from 1 in the order in which they were asked for.
using OperationId = std::uint64_t;

class HostRuntime {
 public:
  // The executor must outlive it.
  HostRuntime(Executor& executor, HostOptions options);
  HostRuntime(const HostRuntime&) = delete;
  HostRuntime& operator=(const HostRuntime&) = delete;

  // `run` comes after all of `after`, which are older.
  OperationId enqueue(std::vector<OperationId> after, std::function<void()> run);

  // Returns when the operation, and all it comes after, have run.
  void finish(OperationId operation);
  void finish_all();
  bool is_finished(OperationId operation) const { return operations_[operation - 1].is_done; }

  Executor& executor() { return executor_; }
  // What was found in launches that have run.
  LaunchReport& report() { return report_; }

 private:
  struct Operation {
    std::vector<OperationId> after = {};
    std::function<void()> run = {};
    bool is_done = false;
  };

  bool may_run(const Operation& operation) const;
  void run(OperationId operation);
  // Unfinished operations that `operation` comes after, itself among them, oldest first.
  std::vector<OperationId> needed_for(OperationId operation) const;
  OperationId pick(const std::vector<OperationId>& from);

  Executor& executor_;
  HostOptions options_;
  RandomStream random_;
  std::vector<Operation> operations_;
  OperationId first_unfinished_ = 1;
  LaunchReport report_;
};

}  // namespace recto::simt
