#pragma once

// Third-party kernels from a shared library with the interface of recto_kernel.h. They run in a
// separate process. A crash, an exit, an endless loop, a stray access or an invalid status is a
// call outcome with a description, and the next call gets a new process.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/attention_views.h"
#include "core/status.h"
#include "reference/numerics.h"
#include "verify/backend.h"
#include "verify/cases/case_demands.h"
#include "verify/library/kernel_device.h"
#include "verify/library/kernel_peer.h"
#include "verify/library/kernel_request.h"

namespace recto::verify {

struct KernelLibraryOptions {
  // CPU time of the library's process; the limit by the clock is kClockLimitFactor times as much.
  std::int64_t load_limit_ms = 10'000;
  std::int64_t time_limit_ms = 10'000;  // per call, and for recto_kernel_table()
  // After this many different calls of a function exceeded time_limit_ms, no new call of it is
  // made. Calls of trials do not count.
  std::int64_t time_outs_max = 4;
  reference::DeclaredNumerics numerics = {};
  // No call beyond them is made; it counts as unsupported.
  CaseDemands demands = {};
  // The device whose memory a library gets if it takes it (kernel_device()); null: none.
  KernelDevice* device = nullptr;
};

class KernelLibrary {
 public:
  // Loads the library in its own process. Invalid input, naming the path and the defect: no file,
  // not a shared library, no table, another version, an empty table, a kind of memory that this
  // program does not provide, or how loading ended. Failed if the system provides no process or
  // memory.
  static Result<std::shared_ptr<KernelLibrary>> open(const std::string& path,
                                                     const KernelLibraryOptions& options = {});

  // The functions of the process at the other end of a socket (kernel_caller.h), which this object
  // closes. Failed if the system provides no memory; invalid input if that process offers no
  // function.
  static Result<std::shared_ptr<KernelLibrary>> of_caller(int socket,
                                                          const KernelLibraryOptions& options = {});

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  const KernelLibraryOptions& options() const { return options_; }
  bool has(KernelFunction function) const { return has_function_[static_cast<int>(function)]; }

  // Both require that the library has the function, and that decode gets one row per sequence. A
  // call that failed is not repeated: the same call returns the same outcome.
  CallOutcome attend(KernelFunction function, const PagedAttentionInputs& inputs,
                     const CallOptions& options);
  // After Done the caches are as the library left them; otherwise they are unchanged.
  CallOutcome write_kv(const KvWriteInputs& inputs);

  // Later calls run in a new process, with the library in its initial state. Failed calls may be
  // repeated, except those that exceeded the limit in a new process.
  void restart(CallsAre calls);

 private:
  struct WrongCall {
    Failed failure;
    bool is_first_of_process = false;
  };

  KernelLibrary(std::string path, const KernelLibraryOptions& options,
                std::unique_ptr<KernelPeer> peer)
      : path_(std::move(path)), options_(options), peer_(std::move(peer)) {}

  Status load();
  CallOutcome call(const KernelRequest& request);
  Result<KernelAnswer> answer_to(const KernelRequest& request);
  void count_time_outs(const KernelRequest& request, KernelEnd end);
  Result<KernelAnswer> start();
  std::string load_step_text() const;
  std::int64_t& time_outs_of(KernelFunction function) {
    return time_outs_[static_cast<int>(function)];
  }

  std::string path_;
  KernelLibraryOptions options_;
  std::unique_ptr<KernelPeer> peer_;
  std::string name_;
  bool has_function_[kKernelFunctions.size()] = {};
  std::int64_t time_outs_[kKernelFunctions.size()] = {};
  std::int64_t calls_of_process_ = 0;  // of the running process
  std::set<RequestKey> late_;          // calls that exceeded the limit, except in trials
  std::set<RequestKey> late_before_;   // late calls that may be due to a busy machine
  bool are_trials_ = false;
  std::map<RequestKey, WrongCall> went_wrong_;
};

}  // namespace recto::verify
