#pragma once

// Marks code that emulates what the hardware does in registers, so that builds that observe memory
// accesses (-fsanitize=thread) do not observe it.

#if defined(__clang__)
#define RECTO_SIMT_UNOBSERVED __attribute__((no_sanitize("thread", "coverage")))
#else
#define RECTO_SIMT_UNOBSERVED __attribute__((no_sanitize("thread")))
#endif
