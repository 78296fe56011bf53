// The functions that compilers call in code built with -fsanitize=thread,alignment. Here they
// notify the observer of the running kernel. They are linked in place of the sanitizers' runtimes,
// and compilers define their names.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "verify/simt/executor/observer.h"

namespace recto::simt {
namespace {

inline void tell(const volatile void* address, AccessShape shape, void* instruction) {
  Observer* const observer = kernel_observer;
  if (observer == nullptr) return;
  const OutsideKernel outside;
  observer->access(reinterpret_cast<std::uintptr_t>(address), shape,
                   reinterpret_cast<std::uintptr_t>(instruction));
}

// The argument of UndefinedBehaviorSanitizer's handler.
struct TypeMismatch {
  struct {
    const char* file;
    std::uint32_t line;
    std::uint32_t column;
  } place;
  const struct {
    std::uint16_t kind;
    std::uint16_t info;
    char name[1];  // the first character of a zero-terminated string
  } * type;
  std::uint8_t alignment_log2;
  std::uint8_t how;
};

// Returns the old value, whether it was the expected one or not.
template <typename T>
T exchange_if(volatile T* address, T expected, T desired) {
  __atomic_compare_exchange_n(address, &expected, desired, false, __ATOMIC_SEQ_CST,
                              __ATOMIC_SEQ_CST);
  return expected;
}

}  // namespace
}  // namespace recto::simt

using recto::simt::AccessAlignment;
using recto::simt::AccessKind;
using recto::simt::tell;

#define RECTO_ACCESS(name, bytes, kind, alignment)                       \
  extern "C" void __tsan_##name(void* address) {                         \
    tell(address, {bytes, AccessKind::kind, AccessAlignment::alignment}, \
         __builtin_return_address(0));                                   \
  }

#define RECTO_ACCESSES(bytes)                                        \
  RECTO_ACCESS(read##bytes, bytes, kRead, kNatural)                  \
  RECTO_ACCESS(write##bytes, bytes, kWrite, kNatural)                \
  RECTO_ACCESS(unaligned_read##bytes, bytes, kRead, kAny)            \
  RECTO_ACCESS(unaligned_write##bytes, bytes, kWrite, kAny)          \
  RECTO_ACCESS(volatile_read##bytes, bytes, kRead, kNatural)         \
  RECTO_ACCESS(volatile_write##bytes, bytes, kWrite, kNatural)       \
  RECTO_ACCESS(unaligned_volatile_read##bytes, bytes, kRead, kAny)   \
  RECTO_ACCESS(unaligned_volatile_write##bytes, bytes, kWrite, kAny) \
  RECTO_ACCESS(read_write##bytes, bytes, kWrite, kNatural)           \
  RECTO_ACCESS(unaligned_read_write##bytes, bytes, kWrite, kAny)

RECTO_ACCESSES(1)
RECTO_ACCESSES(2)
RECTO_ACCESSES(4)
RECTO_ACCESSES(8)
RECTO_ACCESSES(16)

RECTO_ACCESS(vptr_read, sizeof(void*), kRead, kNatural)

extern "C" void __tsan_vptr_update(void* address, void* /*value*/) {
  tell(address, {sizeof(void*), AccessKind::kWrite}, __builtin_return_address(0));
}
extern "C" void __tsan_read_range(void* address, std::size_t bytes) {
  tell(address, {bytes, AccessKind::kRead, AccessAlignment::kAny}, __builtin_return_address(0));
}
extern "C" void __tsan_write_range(void* address, std::size_t bytes) {
  tell(address, {bytes, AccessKind::kWrite, AccessAlignment::kAny}, __builtin_return_address(0));
}

// Called only for a misaligned object. Weak: builds with the sanitizer have its own handler.
extern "C" __attribute__((weak)) void __ubsan_handle_type_mismatch_v1(
    const recto::simt::TypeMismatch* mismatch, std::uintptr_t address) {
  recto::simt::Observer* const observer = recto::simt::kernel_observer;
  if (observer == nullptr) return;
  const recto::simt::OutsideKernel outside;
  observer->misalignment(
      {address, std::size_t{1} << mismatch->alignment_log2, mismatch->type->name},
      reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
}

extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
// Fences within a thread block have a weaker order (simt_memory.h).
extern "C" void __tsan_atomic_thread_fence(int order) {
  recto::simt::Observer* const observer = recto::simt::kernel_observer;
  if (order == __ATOMIC_SEQ_CST && observer != nullptr) {
    const recto::simt::OutsideKernel outside;
    observer->pass_fence();
  }
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
extern "C" void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

// All memory orders are treated as the strongest: no schedule shows the effect of weaker ones.
#define RECTO_ATOMIC(name, result, parameters, kind, is_overwriting, expression)                  \
  extern "C" result __tsan_atomic##name parameters {                                              \
    tell(address, {sizeof *address, AccessKind::kind, AccessAlignment::kNatural, is_overwriting}, \
         __builtin_return_address(0));                                                            \
    return expression;                                                                            \
  }
#define RECTO_ATOMIC_CHANGE(bits, change)                                                         \
  RECTO_ATOMIC(bits##_##change, std::uint##bits##_t,                                              \
               (volatile std::uint##bits##_t * address, std::uint##bits##_t value, int), kAtomic, \
               false, __atomic_##change(address, value, __ATOMIC_SEQ_CST))
#define RECTO_ATOMIC_COMPARE(bits, strength)                                                    \
  RECTO_ATOMIC(bits##_compare_exchange_##strength, int,                                         \
               (volatile std::uint##bits##_t * address, std::uint##bits##_t * expected,         \
                std::uint##bits##_t desired, int, int),                                         \
               kAtomic, false,                                                                  \
               __atomic_compare_exchange_n(address, expected, desired, false, __ATOMIC_SEQ_CST, \
                                           __ATOMIC_SEQ_CST))
#define RECTO_ATOMICS(bits)                                                                       \
  RECTO_ATOMIC_CHANGE(bits, fetch_add)                                                            \
  RECTO_ATOMIC_CHANGE(bits, fetch_sub)                                                            \
  RECTO_ATOMIC_CHANGE(bits, fetch_and)                                                            \
  RECTO_ATOMIC_CHANGE(bits, fetch_or)                                                             \
  RECTO_ATOMIC_CHANGE(bits, fetch_xor)                                                            \
  RECTO_ATOMIC_CHANGE(bits, fetch_nand)                                                           \
  RECTO_ATOMIC_COMPARE(bits, strong)                                                              \
  RECTO_ATOMIC_COMPARE(bits, weak)                                                                \
  RECTO_ATOMIC(bits##_compare_exchange_val, std::uint##bits##_t,                                  \
               (volatile std::uint##bits##_t * address, std::uint##bits##_t expected,             \
                std::uint##bits##_t desired, int, int),                                           \
               kAtomic, false, recto::simt::exchange_if(address, expected, desired))              \
  RECTO_ATOMIC(bits##_load, std::uint##bits##_t,                                                  \
               (const volatile std::uint##bits##_t* address, int), kAtomicRead, false,            \
               __atomic_load_n(address, __ATOMIC_SEQ_CST))                                        \
  RECTO_ATOMIC(bits##_store, void,                                                                \
               (volatile std::uint##bits##_t * address, std::uint##bits##_t value, int), kAtomic, \
               true, __atomic_store_n(address, value, __ATOMIC_SEQ_CST))                          \
  RECTO_ATOMIC(bits##_exchange, std::uint##bits##_t,                                              \
               (volatile std::uint##bits##_t * address, std::uint##bits##_t value, int), kAtomic, \
               true, __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST))

RECTO_ATOMICS(8)
RECTO_ATOMICS(16)
RECTO_ATOMICS(32)
RECTO_ATOMICS(64)

// Copies of any size. Newer compilers call the first names; for the others the linker replaces the
// library's functions with ours (--wrap).
extern "C" {
void* __real_memcpy(void* to, const void* from, std::size_t bytes);
void* __real_memmove(void* to, const void* from, std::size_t bytes);
void* __real_memset(void* to, int value, std::size_t bytes);
}

#define RECTO_COPY(name, real)                                                    \
  extern "C" void* name(void* to, const void* from, std::size_t bytes) {          \
    void* const instruction = __builtin_return_address(0);                        \
    if (bytes > 0) {                                                              \
      tell(from, {bytes, AccessKind::kRead, AccessAlignment::kAny}, instruction); \
      tell(to, {bytes, AccessKind::kWrite, AccessAlignment::kAny}, instruction);  \
    }                                                                             \
    return real(to, from, bytes);                                                 \
  }

#define RECTO_FILL(name)                                                                         \
  extern "C" void* name(void* to, int value, std::size_t bytes) {                                \
    if (bytes > 0) {                                                                             \
      tell(to, {bytes, AccessKind::kWrite, AccessAlignment::kAny}, __builtin_return_address(0)); \
    }                                                                                            \
    return __real_memset(to, value, bytes);                                                      \
  }

RECTO_COPY(__tsan_memcpy, __real_memcpy)
RECTO_COPY(__tsan_memmove, __real_memmove)
RECTO_FILL(__tsan_memset)
RECTO_COPY(__wrap_memcpy, __real_memcpy)
RECTO_COPY(__wrap_memmove, __real_memmove)
RECTO_FILL(__wrap_memset)
