#pragma once

// The process that computes a library's calls, as seen from here: a fork that loads a shared
// library (kernel_process.h), or the process at the other end of a socket (kernel_caller.h). Both
// share the arena and the mailbox with this process.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/status.h"
#include "verify/library/guarded_arena.h"
#include "verify/library/kernel_mailbox.h"

namespace recto::verify {

// Limits are in CPU time of the process, so that a busy machine causes no failure. They are never
// met earlier than by the clock, although several threads use CPU time faster. A process that
// waits, or lets others compute, uses little CPU time: its limit by the clock is this many times as
// long. A process that only waits during the last part of that, one limit long, hangs.
inline constexpr std::int64_t kClockLimitFactor = 6;

struct LoadLimits {
  std::int64_t load_ms = 0;   // for the loader and initialisers, then for device initialisation
  std::int64_t table_ms = 0;  // of recto_kernel_table()
};

struct KernelAnswer {
  KernelEnd end = KernelEnd::kAnswered;
  std::int32_t code = 0;                  // returned status, signal number, or exit code
  std::optional<MemoryFault> fault = {};  // of SIGSEGV and SIGBUS, where it is known
  std::string printed = {};  // to standard output and standard error, truncated to kPrintedBytes
  std::int64_t time_limit_ms = 0;  // the limit that applied
  // A failure's message is a sentence about the call, not a text beside a returned status.
  bool is_told_by_message = false;
};

class KernelPeer {
 public:
  KernelPeer(const KernelPeer&) = delete;
  KernelPeer& operator=(const KernelPeer&) = delete;
  virtual ~KernelPeer();

  // Begins in the library's initial state; the result of loading is in mailbox(). Failed if the
  // system provides no process.
  virtual Result<KernelAnswer> start(const LoadLimits& limits) = 0;
  virtual bool is_running() const = 0;
  // Ends all state that calls left in the library.
  virtual void stop() = 0;

  // The buffers of the next call.
  GuardedArena& arena() { return *arena_; }
  const KernelMailbox& mailbox() const { return *mailbox_; }

  // Makes a call; the process must be running. `call` is a RectoAttentionCall or a RectoKvWriteCall
  // with the other process's addresses. Unless the end is an answer, the process is no longer
  // running.
  KernelAnswer call(KernelFunction function, std::span<const std::byte> call,
                    std::int64_t time_limit_ms);

 protected:
  KernelPeer() = default;

  // Makes the arena and the mailbox. Failed if the system provides no memory.
  Status set_up();
  void clear_mailbox();
  // Makes the call that is in the mailbox.
  virtual KernelAnswer make_call(std::int64_t time_limit_ms) = 0;

  std::unique_ptr<GuardedArena> arena_;
  KernelMailbox* mailbox_ = nullptr;
  int mailbox_file_ = -1;
};

}  // namespace recto::verify
