#pragma once

// One launch of a kernel: what was asked for, and what was found.

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
  bool tells_touched = false;   // its report is to have what it touched
  Site site = {};               // of the call in the host program, if it is known
  // What the host program has asked for. The default is for those whose launches ask for all that
  // they need.
  std::size_t dynamic_shared_max = SharedMemory::kBytesMax;
};

// A kernel's name, and where the call is that gives it.
struct LaunchName {
  // NOLINTNEXTLINE: from literals, without a word
  LaunchName(const char* name, int line = __builtin_LINE(), const char* file = __builtin_FILE())
      : text(name), site{file, line} {}

  const char* text;
  Site site;
};

// Calls the kernel with its arguments, as one CUDA thread. Of a null kernel the call is null, too.
struct KernelCall {
  void (*call)(const void* arguments) = nullptr;
  const void* arguments = nullptr;
};

struct ExecutorOptions {
  Schedule schedule = {};
  // That thread blocks are spread over; 0: as many as the machine runs at once. Reports and, for
  // kernels whose thread blocks do not meet in memory, results do not depend on it.
  unsigned os_threads = 0;
  // And meetings of warps; of one thread block, before it is taken to never end.
  std::uint64_t switches_max = std::uint64_t{1} << 27;
  // Without any switch, before a thread is taken to spin. By the clock, so that it says nothing of
  // kernels that end; under a debugger or on a busy machine a large number does no harm.
  unsigned stall_seconds = 60;
  // Threads may exit before a barrier that others wait at, as sm_70 and later allow. Most that do
  // have forgotten one.
  bool allows_exit_before_barrier = false;
  // Lanes may have exited that others name in a mask, as CUDA allows. Some that do have not been
  // thought of, and whether they have exited yet is a matter of luck.
  bool allows_exit_before_collective = true;
  std::size_t findings_max = 16;  // different ones, of one launch
  Arithmetic arithmetic = {};
};

struct LaunchReport {
  std::vector<Finding> findings;  // by thread block in launch order; the same one is told once
  std::uint64_t switches = 0;
  std::uint64_t proxy_fences = 0;  // fence.proxy.async, by all threads
  // If asked for, of global memory, as far as the observer knows: by kind and address, those of a
  // kind apart from each other.
  std::vector<TouchedRange> touched = {};

  bool passed() const { return findings.empty(); }
  std::string text() const;  // a line each
};

// While it runs.
struct Launch {
  Launch(const LaunchConfig& what, const KernelCall& how, const ExecutorOptions& with,
         Observer* who)
      : config(what), call(how), options(with), observer(who) {}

  const LaunchConfig& config;
  const KernelCall& call;
  const ExecutorOptions& options;
  Observer* const observer;  // or null

  // Thread blocks are counted in the order in which they start. From `stop_at` on they are not run:
  // the one before was abandoned. What is reported does not depend on the number of OS threads.
  std::atomic<std::uint64_t> next_block = 0;
  std::atomic<std::uint64_t> stop_at = UINT64_MAX;
  std::atomic<std::uint64_t> switches = 0;
  std::atomic<std::uint64_t> proxy_fences = 0;
  std::vector<TouchedRange> touched;  // set by the observer when the launch ends

  // `order` is the block's, from `order_of`.
  void report(std::uint64_t order, Finding finding);
  void stop_after(std::uint64_t order);
  std::vector<Finding> take_findings();

  // Which block starts as number `order`.
  std::uint64_t block_at(std::uint64_t order) const;

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::uint64_t, Finding>> findings_;
};

// Why this cannot be launched, or nothing; `call` as in KernelCall.
std::optional<Finding> why_invalid(const LaunchConfig& config, void (*call)(const void* arguments));

}  // namespace recto::simt
