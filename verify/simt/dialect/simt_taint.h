#pragma once

// Taint: MemorySanitizer's shadow of a value, for what it does not follow by itself. In programs
// that have it (variants.bzl, mode "taint"); nothing elsewhere.

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define RECTO_SIMT_MSAN 1
#endif
#endif

namespace recto::simt::device {

#ifdef RECTO_SIMT_MSAN

template <typename T>
bool is_tainted(const T& value) {
  return __msan_test_shadow(&value, sizeof value) >= 0;
}

template <typename T>
void set_tainted(T& value) {
  __msan_poison(&value, sizeof value);
}

template <typename T>
T without_taint(T value) {
  __msan_unpoison(&value, sizeof value);
  return value;
}

// All of it is tainted if anything of the arguments is.
template <typename T, typename... Arguments>
T with_taint_of(T result, const Arguments&... arguments) {
  if ((is_tainted(arguments) || ...)) set_tainted(result);
  return result;
}

#else

template <typename T>
T without_taint(T value) {
  return value;
}

template <typename T, typename... Arguments>
T with_taint_of(T result, const Arguments&...) {
  return result;
}

#endif

}  // namespace recto::simt::device
