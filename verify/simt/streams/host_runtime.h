#pragma once

// The device's side of a host program: it runs launches, copies and events on streams, and graphs
// of them. CUDA guarantees only the order within a stream and the order that events establish. The
// runtime runs operations in an order as adverse as these guarantees allow, so that a missing
// dependency gives wrong results. It also compares the accesses of operations, as far as they are
// known, which finds a missing dependency even if results are right.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/random_stream.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/dependency_check.h"
#include "verify/simt/streams/operation_order.h"

namespace recto::simt {

class DeviceMemory;

enum class HostOrder : std::uint8_t {
  kEager,   // each operation as soon as possible: the device never lags behind
  kLate,    // only operations that a wait requires, the newest allowed one first
  kRandom,  // any allowed operation, at any time
};

struct HostOptions {
  HostOrder order = HostOrder::kEager;
  std::uint64_t seed = 0;
  bool checks_dependencies = true;
  // Names of buffers for findings; must outlive the runtime. Null: the names that the executor's
  // observer has; without an observer, addresses are given as numbers.
  const DeviceMemory* memory = nullptr;
};

// Work for the device. `run` returns the memory that it touched, as far as is known.
struct DeviceWork {
  std::string name = {};  // for messages
  std::function<std::vector<TouchedRange>()> run = {};
  Site site = {};  // in the host program, if known
};

class HostRuntime {
 public:
  // The executor must outlive it.
  HostRuntime(Executor& executor, HostOptions options);
  HostRuntime(const HostRuntime&) = delete;
  HostRuntime& operator=(const HostRuntime&) = delete;

  // Adds an operation that is ordered after all of `after`, which are older.
  OperationId enqueue(std::vector<OperationId> after, DeviceWork work);

  // The host waits: returns when the operation, and all that are ordered before it, have run.
  // Operations enqueued later are ordered after them.
  void finish(OperationId operation);
  void finish_all();
  // Whether the operation has run; if so, later operations are ordered as if the host had waited
  // for it. If not, it may run before the next call, and eventually does.
  bool has_passed(OperationId operation);

  Executor& executor() { return executor_; }
  bool checks_dependencies() const { return options_.checks_dependencies; }
  // The findings in operations that have run.
  LaunchReport& report() { return report_; }

 private:
  struct Operation {
    std::vector<OperationId> after = {};
    DeviceWork work = {};
    bool is_done = false;
  };

  const DeviceMemory* memory() const;
  bool is_finished(OperationId operation) const { return operations_[operation - 1].is_done; }
  bool may_run(const Operation& operation) const;
  // Runs these operations, which depend on no others that have not run.
  void run_all(std::vector<OperationId> operations);
  void run(OperationId operation);
  // The unfinished operations on which `operation` depends, including itself, oldest first.
  std::vector<OperationId> needed_for(OperationId operation) const;
  OperationId pick(const std::vector<OperationId>& from);

  Executor& executor_;
  HostOptions options_;
  RandomStream random_;
  std::vector<Operation> operations_;
  OperationId first_unfinished_ = 1;
  DependencyCheck dependencies_;
  LaunchReport report_;
};

}  // namespace recto::simt
