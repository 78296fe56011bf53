#pragma once

// The library's process: loads a kernel library and calls its functions.

#include <string>

#include "verify/library/guarded_arena.h"
#include "verify/library/kernel_device.h"
#include "verify/library/kernel_mailbox.h"

namespace recto::verify {

// What a new process inherits from its parent.
struct WorkerSetup {
  std::string path;        // of the library, absolute
  GuardedArena* arena;     // its pages are opened for each call
  KernelMailbox* mailbox;  // shared
  int channel = -1;        // a byte arrives for each call, and is sent for each answer
  int printed = -1;        // file that becomes standard output and standard error
  // The device whose memory is passed, if the library takes it.
  KernelDevice* device = nullptr;
};

// Must be called in the new process at once. Answers for the steps of loading the library, then for
// each call, until the channel is closed. The library can end only this process; the signal of a
// fault is recorded first.
[[noreturn]] void serve_kernel_calls(const WorkerSetup& setup);

}  // namespace recto::verify
