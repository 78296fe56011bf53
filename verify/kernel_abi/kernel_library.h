#pragma once

// Third-party kernels from a shared library with the interface of recto_kernel.h. They run in a
// separate process: a crash, an exit, an endless loop, a stray access or an invalid status is an
// outcome like any other, with a description of what happened, and the next call gets a new
// process.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/attention_views.h"
#include "core/status.h"
#include "verify/backend.h"
#include "verify/kernel_abi/kernel_process.h"
#include "verify/kernel_abi/kernel_request.h"

namespace recto::verify {

struct KernelLibraryOptions {
  // CPU time of the library's process; by the clock kClockLimitFactor times as much.
  std::int64_t load_limit_ms = 10'000;
  std::int64_t time_limit_ms = 10'000;  // of one call, and of recto_kernel_table()
  // After this many different calls of a function have run into time_limit_ms, no new call of it
  // is made. Those of trials do not count.
  std::int64_t time_outs_max = 4;
  // The device whose memory a library gets if it takes it (kernel_device()); null: this program has
  // none.
  KernelDevice* device = nullptr;
};

class KernelLibrary {
 public:
  // Loads the library, in its own process. Invalid input, naming the path and what is wrong with
  // it: no file, not a shared library, no table, another version, an empty table, a kind of memory
  // that this program does not provide, or how loading it ended. Failed if the system provides no
  // process or memory.
  static Result<std::shared_ptr<KernelLibrary>> open(const std::string& path,
                                                     const KernelLibraryOptions& options = {});

  const std::string& name() const { return name_; }
  const std::string& path() const { return path_; }
  bool has(KernelFunction function) const { return has_function_[static_cast<int>(function)]; }

  // Both require that the library has the function, and that decode gets one row per sequence.
  // Calls that went wrong are not repeated: made again, their outcome is the same.
  CallOutcome attend(KernelFunction function, const PagedAttentionInputs& inputs,
                     const CallOptions& options);
  // After Done the caches are as the library left them; otherwise they are unchanged.
  CallOutcome write_kv(const KvWriteInputs& inputs);

  // Calls from now on find the library as new, in a new process. Those that went wrong are made
  // again, but for the ones that ran into the limit in a new process.
  void restart(CallsAre calls);

 private:
  struct WrongCall {
    Failed failure;
    bool is_first_of_process = false;
  };

  KernelLibrary(std::string path, const KernelLibraryOptions& options,
                std::unique_ptr<KernelProcess> process)
      : path_(std::move(path)), options_(options), process_(std::move(process)) {}

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
  std::unique_ptr<KernelProcess> process_;
  std::string name_;
  bool has_function_[kKernelFunctions.size()] = {};
  std::int64_t time_outs_[kKernelFunctions.size()] = {};
  std::int64_t calls_of_process_ = 0;  // that runs
  std::set<RequestKey> late_;          // calls that ran into the limit, but for those of trials
  std::set<RequestKey> late_before_;   // calls that were late, and perhaps for the machine's sake
  bool are_trials_ = false;
  std::map<RequestKey, WrongCall> went_wrong_;
};

}  // namespace recto::verify
