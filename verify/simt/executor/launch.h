#pragma once

// One launch of a kernel: its configuration and its findings.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verify/simt/executor/arithmetic.h"
#include "verify/simt/executor/finding.h"
#include "verify/simt/executor/kernel_thread.h"
#include "verify/simt/executor/observer.h"
#include "verify/simt/executor/schedule.h"
#include "verify/simt/executor/shared_memory.h"

namespace recto::simt {

struct LaunchConfig {
  const char* kernel = "";  // its name, for messages; outlives the launch
  Dim3 grid = {};
  Dim3 block = {};
  std::size_t dynamic_shared_bytes = 0;
  bool is_cooperative = false;  // all thread blocks run side by side and may wait for each other
  bool tells_touched = false;   // its report includes the memory that it touched
  Site site = {};               // of the call in the host program, if it is known
  // The limit that the host program has set. The default is for launches that raise the limit to
  // their size.
  std::size_t dynamic_shared_max = SharedMemory::kBytesMax;
};

// A kernel's name, and the location of the call that passes it.
struct LaunchName {
  // NOLINTNEXTLINE: from literals, without a word
  LaunchName(const char* name, int line = __builtin_LINE(), const char* file = __builtin_FILE())
      : text(name), site{file, line} {}

  const char* text;
  Site site;
};

// Calls the kernel with its arguments, as one CUDA thread. For a null kernel `call` is null, too.
struct KernelCall {
  void (*call)(const void* arguments) = nullptr;
  const void* arguments = nullptr;
};

struct ExecutorOptions {
  Schedule schedule = {};
  // The number of OS threads over which thread blocks are distributed; 0: as many as the machine
  // runs at once. Reports do not depend on it, nor do results of kernels whose thread blocks do not
  // communicate through memory.
  unsigned os_threads = 0;
  // Switches and warp-wide operations of one thread block before it is considered to never end.
  std::uint64_t switches_max = std::uint64_t{1} << 27;
  // Time without any switch before a thread is considered to spin. It is wall-clock time, so under
  // a debugger or on a busy machine choose a large number: that does no harm to kernels that end.
  unsigned stall_seconds = 60;
  // Threads may exit before a barrier at which others wait, as sm_70 and later allow. In most
  // kernels that do so, it is a mistake.
  bool allows_exit_before_barrier = false;
  // A mask may name lanes that have exited, as CUDA allows. In some kernels this is an oversight,
  // and whether the lanes have exited yet is a matter of luck.
  bool allows_exit_before_collective = true;
  std::size_t findings_max = 16;  // distinct ones, per launch
  Arithmetic arithmetic = {};
};

struct LaunchReport {
  std::vector<Finding> findings;  // by thread block in launch order; without repetitions
  std::uint64_t switches = 0;
  std::uint64_t proxy_fences = 0;  // fence.proxy.async, by all threads
  // If requested: the global memory touched, as far as the observer knows, sorted by kind and
  // address. Ranges of one kind neither overlap nor touch.
  std::vector<TouchedRange> touched = {};

  bool passed() const { return findings.empty(); }
  std::string text() const;  // a line each
};

// A launch while it runs.
struct Launch {
  Launch(const LaunchConfig& what, const KernelCall& how, const ExecutorOptions& with,
         Observer* who)
      : config(what), call(how), options(with), observer(who) {}

  const LaunchConfig& config;
  const KernelCall& call;
  const ExecutorOptions& options;
  Observer* const observer;  // or null

  // Thread blocks are numbered in the order in which they start. Those from `stop_at` on do not
  // run, because the one before was abandoned. The report does not depend on the number of OS
  // threads.
  std::atomic<std::uint64_t> next_block = 0;
  std::atomic<std::uint64_t> stop_at = UINT64_MAX;
  std::atomic<std::uint64_t> switches = 0;
  std::atomic<std::uint64_t> proxy_fences = 0;
  std::vector<TouchedRange> touched;  // set by the observer when the launch ends

  // `order` is the block's number, as in `block_at`.
  void report(std::uint64_t order, Finding finding);
  void stop_after(std::uint64_t order);
  std::vector<Finding> take_findings();

  // The linear index of the block that starts as number `order`.
  std::uint64_t block_at(std::uint64_t order) const;

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::uint64_t, Finding>> findings_;
};

// The reason why this cannot be launched; nothing if it can.
std::optional<Finding> why_invalid(const LaunchConfig& config, const KernelCall& call);

}  // namespace recto::simt
