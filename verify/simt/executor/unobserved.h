#pragma once

// Marks code that emulates hardware operations on registers, so that builds that observe memory
// accesses (-fsanitize=thread) do not observe it.

#if defined(__clang__)
#define RECTO_SIMT_UNOBSERVED __attribute__((no_sanitize("thread", "coverage")))
#else
#define RECTO_SIMT_UNOBSERVED __attribute__((no_sanitize("thread")))
#endif
