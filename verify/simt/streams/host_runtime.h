#pragma once

// What a host program asks of a device: launches, copies and events on streams, and graphs of them.
// CUDA promises the order within a stream and the order that events make, and nothing else. Here
// operations run in an order that is as unkind as these promises allow, so that a dependency that
// the host program forgot shows in its results; and what they touch is compared, as far as it is
// known, so that it is found even where it does not.

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
  kEager,   // each operation as soon as it may: on the device's side nothing is ever late
  kLate,    // nothing before somebody waits for it, and of what may run the newest first
  kRandom,  // anything that may run, at any time
};

struct HostOptions {
  HostOrder order = HostOrder::kEager;
  std::uint64_t seed = 0;
  bool checks_dependencies = true;
  // Its names are for findings; it outlives the runtime. Null: that of the executor's observer, if
  // it has one, or else addresses are told as numbers.
  const DeviceMemory* memory = nullptr;
};

// What the device is asked to do. Says what it touched of memory, as far as that is known.
struct DeviceWork {
  std::string name = {};  // for messages
  std::function<std::vector<TouchedRange>()> run = {};
  Site site = {};  // in the host program, if it is known
};

class HostRuntime {
 public:
  // The executor must outlive it.
  HostRuntime(Executor& executor, HostOptions options);
  HostRuntime(const HostRuntime&) = delete;
  HostRuntime& operator=(const HostRuntime&) = delete;

  // Comes after all of `after`, which are older.
  OperationId enqueue(std::vector<OperationId> after, DeviceWork work);

  // The host waits: returns when the operation, and all it comes after, have run. Whatever is asked
  // for later comes after them.
  void finish(OperationId operation);
  void finish_all();
  // Whether the operation has run; if so, the host knows it, as if it had waited. If not, it may
  // run before the host asks again, and in the end does.
  bool has_passed(OperationId operation);

  Executor& executor() { return executor_; }
  bool checks_dependencies() const { return options_.checks_dependencies; }
  // What was found in operations that have run.
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
  // All of these, which come after no others that have not run.
  void run_all(std::vector<OperationId> operations);
  void run(OperationId operation);
  // Unfinished operations that `operation` comes after, itself among them, oldest first.
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
