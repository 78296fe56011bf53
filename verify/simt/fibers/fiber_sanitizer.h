#pragma once

// Notifies AddressSanitizer of switches, so that it knows which stack is in use. Does nothing in
// other builds. (ThreadSanitizer needs state per fiber: tsan_fiber.h.)

#include "verify/simt/fibers/fiber.h"

#ifdef RECTO_SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace recto::simt {

// Call before a stack is reused: the frames of an abandoned fiber are gone.
inline void announce_new_stack([[maybe_unused]] const StackMemory& stack) {
#ifdef RECTO_SIMT_ASAN
  __asan_unpoison_memory_region(stack.bottom, stack.bytes);
#endif
}

// Call before leaving a stack; `keep` receives what announce_return needs on return to it.
inline void announce_leaving([[maybe_unused]] void** keep,
                             [[maybe_unused]] const StackMemory& next) {
#ifdef RECTO_SIMT_ASAN
  __sanitizer_start_switch_fiber(keep, next.bottom, next.bytes);
#endif
}

// Call on return to a stack.
inline void announce_return([[maybe_unused]] void* kept) {
#ifdef RECTO_SIMT_ASAN
  __sanitizer_finish_switch_fiber(kept, nullptr, nullptr);
#endif
}

// Call at the beginning of a new stack. Sets `left` to the memory of the stack that was left, which
// for the OS thread's own is not known before.
inline void announce_first_arrival([[maybe_unused]] StackMemory& left) {
#ifdef RECTO_SIMT_ASAN
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
  left = {static_cast<std::byte*>(const_cast<void*>(bottom)), bytes};
#endif
}

}  // namespace recto::simt
