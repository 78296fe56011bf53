#pragma once

// The other process: loads a kernel library and calls its functions.

#include <string>

#include "verify/kernel_abi/guarded_arena.h"
#include "verify/kernel_abi/kernel_device.h"
#include "verify/kernel_abi/kernel_mailbox.h"

namespace recto::verify {

// What a new process has of the one that it was forked from.
struct WorkerSetup {
  std::string path;        // of the library, absolute
  GuardedArena* arena;     // its pages are opened for each call
  KernelMailbox* mailbox;  // shared
  int channel = -1;        // a byte arrives for each call, and is sent for each answer
  int printed = -1;        // file that becomes standard output and standard error
  // Whose memory is handed over, if the library takes it.
  KernelDevice* device = nullptr;
};

// To be called in the new process at once. Answers once for loading the library, then for each
// call, until the channel is closed. What the library does to its process ends it; a signal that
// stands for a fault is written down first.
[[noreturn]] void serve_kernel_calls(const WorkerSetup& setup);

}  // namespace recto::verify
