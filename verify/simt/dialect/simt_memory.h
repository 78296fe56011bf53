#pragma once

// Loads and stores with cache hints, which have no effect here; fences. They are inlined, so that
// accesses have the kernel's line.

#include <type_traits>

#define RECTO_SIMT_LOAD(name)                                      \
  template <typename T>                                            \
  __attribute__((always_inline)) inline T name(const T* address) { \
    return *address;                                               \
  }
RECTO_SIMT_LOAD(__ldg)
RECTO_SIMT_LOAD(__ldca)
RECTO_SIMT_LOAD(__ldcg)
RECTO_SIMT_LOAD(__ldcs)
RECTO_SIMT_LOAD(__ldlu)
RECTO_SIMT_LOAD(__ldcv)
#undef RECTO_SIMT_LOAD

#define RECTO_SIMT_STORE(name)                                                                 \
  template <typename T>                                                                        \
  __attribute__((always_inline)) inline void name(T* address, std::type_identity_t<T> value) { \
    *address = value;                                                                          \
  }
RECTO_SIMT_STORE(__stwb)
RECTO_SIMT_STORE(__stcg)
RECTO_SIMT_STORE(__stcs)
RECTO_SIMT_STORE(__stwt)
#undef RECTO_SIMT_STORE

// Builds with observed accesses recognise fences across thread blocks by their memory order.
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
