#pragma once

// Taint is MemorySanitizer's shadow of a value. These functions propagate it where MemorySanitizer
// does not do so by itself. They are used in programs built with it (variants.bzl, mode "taint"),
// and do nothing elsewhere.

#include <cstdint>

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

// `result`, entirely tainted if any part of the arguments is.
template <typename T, typename... Arguments>
T with_taint_of(T result, const Arguments&... arguments) {
  if ((is_tainted(arguments) || ...)) set_tainted(result);
  return result;
}

// Ends the program if `value` is tainted, as an access through a tainted address does. For
// addresses that the executor uses later, where nothing checks them.
template <typename T>
void expect_untainted(const T& value) {
  __msan_check_mem_is_initialized(&value, sizeof value);
}

// All bits of each tainted byte are set.
inline std::uint64_t tainted_bits(const std::uint64_t& word) {
  std::uint64_t tainted = 0;
  for (unsigned byte = 0; byte < sizeof word; ++byte) {
    const auto* at = reinterpret_cast<const unsigned char*>(&word) + byte;
    if (is_tainted(*at)) tainted |= std::uint64_t{0xff} << 8 * byte;
  }
  return tainted;
}

// `known`, with those bytes tainted in which `tainted` has bits.
inline std::uint64_t with_tainted_bits(std::uint64_t known, std::uint64_t tainted) {
  std::uint64_t word = without_taint(known);
  for (unsigned byte = 0; byte < sizeof word; ++byte) {
    auto* at = reinterpret_cast<unsigned char*>(&word) + byte;
    if ((tainted >> 8 * byte & 0xff) != 0) set_tainted(*at);
  }
  return word;
}

#else

template <typename T>
void expect_untainted(const T&) {}

inline std::uint64_t tainted_bits(std::uint64_t) { return 0; }
inline std::uint64_t with_tainted_bits(std::uint64_t known, std::uint64_t) { return known; }

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
