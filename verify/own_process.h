#pragma once

// Runs each call of one of recto's own kernels in a forked process, as a kernel library runs in a
// worker (library/): a kernel that crashes or corrupts the heap fails its case and does not end the
// run. No call sees what an earlier call left in memory.

#include <functional>
#include <string>

#include "verify/backend.h"
#include "verify/law.h"

namespace recto::verify {

// A fork that takes longer is ended, and has failed with kTimeOut: host code that hangs. (On the
// executor, endless loops of kernels are findings.)
struct ForkLimits {
  unsigned cpu_s = 1200;
  unsigned clock_s = 7200;  // a fork that waits takes no CPU time
};

// "SIGSEGV", for example.
std::string signal_name(int number);

// The backend, each of whose calls is made in a fork. Only the outcome comes back, so that the call
// must leave nothing else behind. A call that ends the fork has failed: the kind is the signal's
// name, kTimeOut or "exit". Not for a backend on a GPU: CUDA does not survive a fork.
Backend in_own_process(Backend backend, ForkLimits limits = {});

// What a check in a fork leaves behind beside its verdict, as text.
struct ForkNotes {
  std::function<std::string(const Backend&)> write = {};  // in the fork, after the check
  std::function<void(const Backend&, const std::string&)> read = {};  // in the caller, if it came
};

// The same of a law's whole check: one fork, where each call in its own would take several. Beside
// the notes nothing that the check did is seen from outside.
Law in_own_process(Law law, ForkNotes notes = {}, ForkLimits limits = {});

}  // namespace recto::verify
