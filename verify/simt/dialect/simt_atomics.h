#pragma once

// Atomics on 32 and 64 bits. Thread blocks run on several OS threads, so these are the machine's
// own atomics, which builds with observed accesses see as such. Each gives the old value.

#include <bit>
#include <cstdint>

namespace recto::simt::device {

// Applies `change` to what is there, however often others come between.
template <typename T, typename Change>
inline T atomic_change(T* address, Change change) {
  T old;
  __atomic_load(address, &old, __ATOMIC_RELAXED);
  for (;;) {
    T desired = change(old);
    if (__atomic_compare_exchange(address, &old, &desired, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED)) {
      return old;
    }
  }
}

}  // namespace recto::simt::device

template <typename T>
inline T atomicAdd(T* address, T value) {
  return recto::simt::device::atomic_change(address, [value](T old) { return old + value; });
}
template <typename T>
inline T atomicSub(T* address, T value) {
  return recto::simt::device::atomic_change(address, [value](T old) { return old - value; });
}
template <typename T>
inline T atomicExch(T* address, T value) {
  // What is there need not have been written.
  T old;
  __atomic_exchange(address, &value, &old, __ATOMIC_RELAXED);
  return old;
}
template <typename T>
inline T atomicMin(T* address, T value) {
  return recto::simt::device::atomic_change(address,
                                            [value](T old) { return old < value ? old : value; });
}
template <typename T>
inline T atomicMax(T* address, T value) {
  return recto::simt::device::atomic_change(address,
                                            [value](T old) { return old > value ? old : value; });
}
template <typename T>
inline T atomicAnd(T* address, T value) {
  return recto::simt::device::atomic_change(address, [value](T old) { return old & value; });
}
template <typename T>
inline T atomicOr(T* address, T value) {
  return recto::simt::device::atomic_change(address, [value](T old) { return old | value; });
}
template <typename T>
inline T atomicXor(T* address, T value) {
  return recto::simt::device::atomic_change(address, [value](T old) { return old ^ value; });
}
// Counts up to `limit`, then from 0 again.
inline unsigned atomicInc(unsigned* address, unsigned limit) {
  return recto::simt::device::atomic_change(
      address, [limit](unsigned old) { return old >= limit ? 0 : old + 1; });
}
template <typename T>
inline T atomicCAS(T* address, T compare, T value) {
  return recto::simt::device::atomic_change(
      address, [compare, value](T old) { return old == compare ? value : old; });
}
