// The functions that compilers call in code built with -fsanitize=thread,alignment: here they
// notify the observer of the running kernel. Linked in place of the sanitizers' runtimes. The names
// are the compilers'.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "verify/simt/executor/observer.h"

namespace recto::simt {
namespace {

inline void tell(const volatile void* address, AccessShape shape, void* instruction) {
  Observer* const observer = kernel_observer;
  if (observer == nullptr) return;
  kernel_observer = nullptr;
  observer->access(reinterpret_cast<std::uintptr_t>(address), shape,
                   reinterpret_cast<std::uintptr_t>(instruction));
  kernel_observer = observer;
}

void tell_fence() {
  Observer* const observer = kernel_observer;
  if (observer == nullptr) return;
  kernel_observer = nullptr;
  observer->pass_fence();
  kernel_observer = observer;
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
    char name[1];  // and further ones, up to a zero
  } * type;
  std::uint8_t alignment_log2;
  std::uint8_t how;
};

void tell_misaligned(const TypeMismatch& mismatch, std::uintptr_t address, void* instruction) {
  Observer* const observer = kernel_observer;
  if (observer == nullptr) return;
  kernel_observer = nullptr;
  observer->misalignment({address, std::size_t{1} << mismatch.alignment_log2, mismatch.type->name},
                         reinterpret_cast<std::uintptr_t>(instruction));
  kernel_observer = observer;
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
  recto::simt::tell_misaligned(*mismatch, address, __builtin_return_address(0));
}

extern "C" void __tsan_init() {}
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
// Fences of the thread block alone have a weaker order (simt_memory.h).
extern "C" void __tsan_atomic_thread_fence(int order) {
  if (order == __ATOMIC_SEQ_CST) recto::simt::tell_fence();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
extern "C" void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

// Memory orders are treated as the strongest: no schedule shows the effect of weaker ones.
#define RECTO_ATOMIC_CHANGE(bits, name, builtin)                                     \
  extern "C" std::uint##bits##_t __tsan_atomic##bits##_##name(                       \
      volatile std::uint##bits##_t* address, std::uint##bits##_t value, int) {       \
    tell(address, {sizeof value, AccessKind::kAtomic}, __builtin_return_address(0)); \
    return builtin(address, value, __ATOMIC_SEQ_CST);                                \
  }

#define RECTO_ATOMICS(bits)                                                                 \
  RECTO_ATOMIC_CHANGE(bits, fetch_add, __atomic_fetch_add)                                  \
  RECTO_ATOMIC_CHANGE(bits, fetch_sub, __atomic_fetch_sub)                                  \
  RECTO_ATOMIC_CHANGE(bits, fetch_and, __atomic_fetch_and)                                  \
  RECTO_ATOMIC_CHANGE(bits, fetch_or, __atomic_fetch_or)                                    \
  RECTO_ATOMIC_CHANGE(bits, fetch_xor, __atomic_fetch_xor)                                  \
  RECTO_ATOMIC_CHANGE(bits, fetch_nand, __atomic_fetch_nand)                                \
  extern "C" std::uint##bits##_t __tsan_atomic##bits##_load(                                \
      const volatile std::uint##bits##_t* address, int) {                                   \
    tell(address, {bits / 8, AccessKind::kAtomicRead}, __builtin_return_address(0));        \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                      \
  }                                                                                         \
  extern "C" std::uint##bits##_t __tsan_atomic##bits##_exchange(                            \
      volatile std::uint##bits##_t* address, std::uint##bits##_t value, int) {              \
    tell(address, {sizeof value, AccessKind::kAtomic, AccessAlignment::kNatural, true},     \
         __builtin_return_address(0));                                                      \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                           \
  }                                                                                         \
  extern "C" void __tsan_atomic##bits##_store(volatile std::uint##bits##_t* address,        \
                                              std::uint##bits##_t value, int) {             \
    tell(address, {sizeof value, AccessKind::kAtomic, AccessAlignment::kNatural, true},     \
         __builtin_return_address(0));                                                      \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                     \
  }                                                                                         \
  extern "C" int __tsan_atomic##bits##_compare_exchange_strong(                             \
      volatile std::uint##bits##_t* address, std::uint##bits##_t* expected,                 \
      std::uint##bits##_t desired, int, int) {                                              \
    tell(address, {sizeof desired, AccessKind::kAtomic}, __builtin_return_address(0));      \
    return __atomic_compare_exchange_n(address, expected, desired, false, __ATOMIC_SEQ_CST, \
                                       __ATOMIC_SEQ_CST);                                   \
  }                                                                                         \
  extern "C" int __tsan_atomic##bits##_compare_exchange_weak(                               \
      volatile std::uint##bits##_t* address, std::uint##bits##_t* expected,                 \
      std::uint##bits##_t desired, int, int) {                                              \
    tell(address, {sizeof desired, AccessKind::kAtomic}, __builtin_return_address(0));      \
    return __atomic_compare_exchange_n(address, expected, desired, false, __ATOMIC_SEQ_CST, \
                                       __ATOMIC_SEQ_CST);                                   \
  }                                                                                         \
  extern "C" std::uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                \
      volatile std::uint##bits##_t* address, std::uint##bits##_t expected,                  \
      std::uint##bits##_t desired, int, int) {                                              \
    tell(address, {sizeof desired, AccessKind::kAtomic}, __builtin_return_address(0));      \
    __atomic_compare_exchange_n(address, &expected, desired, false, __ATOMIC_SEQ_CST,       \
                                __ATOMIC_SEQ_CST);                                          \
    return expected;                                                                        \
  }

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
