#pragma once

// Our handle to the process that runs a kernel library: starts it, calls it, waits up to a limit,
// and restarts it once it has ended. Nothing that the library does can end our process.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/status.h"
#include "verify/library/guarded_arena.h"
#include "verify/library/kernel_device.h"
#include "verify/library/kernel_mailbox.h"

namespace recto::verify {

// How waiting for the library ended.
enum class KernelEnd : std::uint8_t {
  kAnswered,
  kSignal,     // a fault, or another signal
  kExit,       // the library ended its process
  kDevice,     // it left the device in a state that ended its process
  kClosed,     // it closed files that were not its own, and was killed
  kTimeLimit,  // it exceeded its CPU time, and was killed
  // It used less CPU time, but did not return in several times the limit, and was killed:
  kClockLimit,  // it may have waited for the machine
  kHanging      // it waited for something else, and computed nothing
};

constexpr bool is_time_out(KernelEnd end) {
  return end == KernelEnd::kTimeLimit || end == KernelEnd::kClockLimit ||
         end == KernelEnd::kHanging;
}

// Limits are in CPU time of the process, so that a busy machine causes no failure. They are never
// met earlier than by the clock, although several threads use CPU time faster. A process that
// waits, or lets others compute, uses little CPU time: its limit by the clock is this many times as
// long. A process that only waits during the last part of that, one limit long, hangs.
inline constexpr std::int64_t kClockLimitFactor = 6;

inline constexpr std::size_t kPrintedBytes = 2000;

struct LoadLimits {
  std::int64_t load_ms = 0;   // for the loader and initialisers, then for device initialisation
  std::int64_t table_ms = 0;  // of recto_kernel_table()
};

struct KernelAnswer {
  KernelEnd end = KernelEnd::kAnswered;
  std::int32_t code = 0;  // returned status, signal number, or exit code
  MemoryFault fault = {};
  std::string printed;  // to standard output and standard error, truncated to kPrintedBytes
  std::int64_t time_limit_ms = 0;  // the limit that applied
};

class KernelProcess {
 public:
  // `path` must be absolute; `device` must outlive the object and is null if there is none. Failed
  // if the system provides no memory.
  static Result<std::unique_ptr<KernelProcess>> create(const std::string& path,
                                                       KernelDevice* device = nullptr);
  KernelProcess(const KernelProcess&) = delete;
  KernelProcess& operator=(const KernelProcess&) = delete;
  ~KernelProcess();

  // Ends a running process and starts one that loads the library; the result of loading is in
  // mailbox(). Failed if the system provides no process.
  Result<KernelAnswer> start(const LoadLimits& limits);
  bool is_running() const { return process_ > 0; }
  // Ends a running process, and with it all state that calls left in the library.
  void stop();

  // The buffers of the next call.
  GuardedArena& arena() { return *arena_; }
  const KernelMailbox& mailbox() const { return *mailbox_; }

  // Makes a call; the process must be running. `call` is a RectoAttentionCall or a RectoKvWriteCall
  // with the other process's addresses. Unless the end is an answer, the process is no longer
  // running.
  KernelAnswer call(KernelFunction function, std::span<const std::byte> call,
                    std::int64_t time_limit_ms);

 private:
  KernelProcess(const std::string& path, KernelDevice* device) : path_(path), device_(device) {}

  Status set_up();
  void go_on();
  KernelAnswer wait(std::int64_t cpu_before_ms, std::int64_t time_limit_ms);
  KernelAnswer ended(KernelEnd end);
  std::string take_printed();

  std::string path_;
  KernelDevice* device_;
  std::unique_ptr<GuardedArena> arena_;
  KernelMailbox* mailbox_ = nullptr;
  int printed_ = -1;  // file
  int channel_ = -1;
  int process_ = -1;
};

}  // namespace recto::verify
