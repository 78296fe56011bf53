#pragma once

// Atomics, for the types for which CUDA has them. Thread blocks run on several OS threads, so these
// are the machine's own atomics. Builds with observed accesses see each as one atomic access,
// however many attempts it takes. Each returns the old value, and lets other threads of the block
// run now and then, so that threads can wait for each other with them.

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "verify/simt/dialect/simt_taint.h"
#include "verify/simt/dialect/simt_warp.h"
#include "verify/simt/executor/device_api.h"
#include "verify/simt/executor/unobserved.h"

namespace recto::simt::device {

template <typename T, typename Change>
RECTO_SIMT_UNOBSERVED T atomic_retry(T* address, T old, Change change) {
  for (;;) {
    T desired = change(old);
    if (__atomic_compare_exchange(address, &old, &desired, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED)) {
      return old;
    }
  }
}

// Replaces the old value with change(old, value). The observed access is the first attempt, which
// guesses the old value, and learns it.
template <typename T, typename Change>
inline T atomic_change_known(T* address, T value, Change change) {
  const auto changed = [change, value](T old) { return change(old, value); };
  T old{};
  T desired = changed(old);
  if (__atomic_compare_exchange(address, &old, &desired, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED)) {
    return old;
  }
  return atomic_retry(address, old, changed);
}

#ifdef RECTO_SIMT_MSAN
// MemorySanitizer treats what atomic operations store and return as initialised.
template <typename T, typename Change>
inline T atomic_change(T* address, T value, Change change) {
  const T before = *address;
  __msan_unpoison(address, sizeof *address);
  const T old = atomic_change_known(address, without_taint(value), change);
  if (is_tainted(before) || is_tainted(value)) set_tainted(*address);
  return with_taint_of(old, before);
}
#else
template <typename T, typename Change>
inline T atomic_change(T* address, T value, Change change) {
  return atomic_change_known(address, value, change);
}
#endif

template <typename T, typename... Types>
concept AtomicAmong = (std::same_as<T, Types> || ...);

template <typename T>
concept AtomicWord = AtomicAmong<T, int, unsigned, unsigned long long>;
template <typename T>
concept AtomicInteger = AtomicWord<T> || std::same_as<T, long long>;
template <typename T>
concept AtomicSingle = AtomicAmong<T, int, unsigned>;
template <typename T>
concept AtomicExchanged = AtomicWord<T> || std::same_as<T, float>;
template <typename T>
concept AtomicCompared = AtomicWord<T> || std::same_as<T, unsigned short>;
// Specialise it for other types of 2 or 4 bytes for which CUDA has atomicAdd.
template <typename T>
inline constexpr bool kHasAtomicAdd =
    AtomicAmong<T, int, unsigned, unsigned long long, float, double>;
template <typename T>
concept AtomicSummand = kHasAtomicAdd<T>;

}  // namespace recto::simt::device

// name(address, value) for types that CUDA supports; refused for others.
#define RECTO_SIMT_ATOMIC(name, Served, change)                                            \
  template <recto::simt::device::Served T>                                                 \
  inline T name(T* address, std::type_identity_t<T> value, RECTO_SIMT_SITE) {              \
    recto::simt::device::begin_atomic(site);                                               \
    return recto::simt::device::atomic_change(address, T(value),                           \
                                              [](T old, T value) -> T { return change; }); \
  }                                                                                        \
  RECTO_SIMT_REFUSE_ATOMIC(name, Served)
#define RECTO_SIMT_REFUSE_ATOMIC(name, Served)                                   \
  template <typename T, typename... Values>                                      \
  requires(!recto::simt::device::Served<T>) T name(T* address, Values... values) \
  __attribute__((                                                                \
      unavailable("verify/simt: " #name " of this type is not supported, as CUDA has none")));

RECTO_SIMT_ATOMIC(atomicAdd, AtomicSummand, old + value)
RECTO_SIMT_ATOMIC(atomicSub, AtomicSingle, old - value)
RECTO_SIMT_ATOMIC(atomicMin, AtomicInteger, old < value ? old : value)
RECTO_SIMT_ATOMIC(atomicMax, AtomicInteger, old > value ? old : value)
RECTO_SIMT_ATOMIC(atomicAnd, AtomicWord, old& value)
RECTO_SIMT_ATOMIC(atomicOr, AtomicWord, old | value)
RECTO_SIMT_ATOMIC(atomicXor, AtomicWord, old ^ value)
RECTO_SIMT_REFUSE_ATOMIC(atomicExch, AtomicExchanged)
RECTO_SIMT_REFUSE_ATOMIC(atomicCAS, AtomicCompared)
#undef RECTO_SIMT_ATOMIC
#undef RECTO_SIMT_REFUSE_ATOMIC

template <recto::simt::device::AtomicExchanged T>
inline T atomicExch(T* address, std::type_identity_t<T> value, RECTO_SIMT_SITE) {
  recto::simt::device::begin_atomic(site);
#ifdef RECTO_SIMT_MSAN
  const T before = *address;
#endif
  // The old value need not have been initialised.
  T old;
  __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);
#ifdef RECTO_SIMT_MSAN
  __msan_copy_shadow(address, &value, sizeof value);
  __msan_copy_shadow(&old, &before, sizeof old);
#endif
  return old;
}
template <recto::simt::device::AtomicCompared T>
inline T atomicCAS(T* address, std::type_identity_t<T> compare, std::type_identity_t<T> value,
                   RECTO_SIMT_SITE) {
  recto::simt::device::begin_atomic(site);
#ifdef RECTO_SIMT_MSAN
  // Whether the value is stored depends on the old one and on `compare`.
  return recto::simt::device::atomic_change(
      address, recto::simt::device::with_taint_of(value, compare),
      [compare = recto::simt::device::without_taint(compare)](T old, T value) {
        return old == compare ? value : old;
      });
#else
  __atomic_compare_exchange(address, &compare, &value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return compare;
#endif
}
// Counts up to `limit`, then from 0 again.
inline unsigned atomicInc(unsigned* address, unsigned limit, RECTO_SIMT_SITE) {
  recto::simt::device::begin_atomic(site);
  return recto::simt::device::atomic_change(
      address, limit, [](unsigned old, unsigned limit) { return old >= limit ? 0 : old + 1; });
}
// Counts down to 0, then from `limit` again.
inline unsigned atomicDec(unsigned* address, unsigned limit, RECTO_SIMT_SITE) {
  recto::simt::device::begin_atomic(site);
  return recto::simt::device::atomic_change(address, limit, [](unsigned old, unsigned limit) {
    return old == 0 || old > limit ? limit : old - 1;
  });
}
