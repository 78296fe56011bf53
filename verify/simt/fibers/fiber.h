#pragma once

// Fibers: separate stacks between which one OS thread switches explicitly. A switch preserves the
// registers that a call must preserve, and nothing else; a fiber stays on the OS thread on which it
// began.
//
// x86-64 has its own switch. Other machines, builds with a sanitizer that must be notified of
// switches, and builds that define RECTO_SIMT_BOOST_CONTEXT use Boost.Context's (fiber_boost.cc).

#include <cstddef>
#include <memory>

#if defined(__SANITIZE_ADDRESS__)
#define RECTO_SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RECTO_SIMT_ASAN 1
#endif
#endif

// ThreadSanitizer is not detected by its macro, which is also defined for kernels that are compiled
// with -fsanitize=thread for our own hooks: --config=tsan defines RECTO_SIMT_TSAN.
#if defined(RECTO_SIMT_ASAN) || defined(RECTO_SIMT_TSAN)
#define RECTO_SIMT_ANNOUNCES_SWITCHES 1
#endif

#if defined(RECTO_SIMT_ANNOUNCES_SWITCHES) || !defined(__x86_64__)
#define RECTO_SIMT_BOOST_CONTEXT 1
#endif

namespace recto::simt {

// The memory of a stack. The page below `bottom` must not be touched.
struct StackMemory {
  std::byte* bottom = nullptr;
  std::size_t bytes = 0;
};

using FiberEntry = void (*)(void* argument);

// As constructed, a fiber represents the OS thread's own stack, which the first switch leaves.
class Fiber {
 public:
  // Makes the next switch to this fiber call entry(argument), which must not return. O(1),
  // allocates nothing.
  void prepare(const StackMemory& stack, FiberEntry entry, void* argument);

  // The prepared stack; empty for the OS thread's own fiber.
  const StackMemory& stack() const { return stack_; }

  // Switches from `running`, the fiber that runs, to another one.
  static void switch_between(Fiber& running, Fiber& next);

 private:
  StackMemory stack_;
#if defined(RECTO_SIMT_BOOST_CONTEXT)
  friend struct BoostSwitch;
  struct TsanContext;
  struct GiveBack {
    void operator()(TsanContext* context) const;
  };

  void* context_ = nullptr;  // where it is suspended
  Fiber* left_ = nullptr;    // the one that the last switch to this one left
  FiberEntry entry_ = nullptr;
  void* argument_ = nullptr;
  void* asan_stack_ = nullptr;  // AddressSanitizer's fake stack, while this fiber is suspended
  std::unique_ptr<TsanContext, GiveBack> tsan_context_;  // null for the OS thread's own
  void* tsan_fiber_ = nullptr;
#else
  void* stack_pointer_ = nullptr;  // these three while it is suspended
  void* frame_pointer_ = nullptr;
  void* instruction_ = nullptr;
#endif
};

#if !defined(RECTO_SIMT_BOOST_CONTEXT)
// Inlined, so that the processor's return-address stack is not disturbed: fibers mostly wait at the
// same place, so the returns that follow are predicted correctly. The compiler saves the clobbered
// registers that it needs; rbp cannot be listed as clobbered. All fibers share rounding modes and
// the like (mxcsr, x87), which are not switched.
[[gnu::always_inline]] inline void Fiber::switch_between(Fiber& running, Fiber& next) {
  void** from = &running.stack_pointer_;
  void** to = &next.stack_pointer_;
  __asm__ volatile(
      "lea 1f(%%rip), %%rax\n\t"
      "mov %%rsp, (%0)\n\t"
      "mov %%rbp, 8(%0)\n\t"
      "mov %%rax, 16(%0)\n\t"
      "mov (%1), %%rsp\n\t"
      "mov 8(%1), %%rbp\n\t"
      "jmp *16(%1)\n"
      "1:"
      : "+D"(from), "+S"(to)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15",
#ifdef __AVX512F__
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6",
        "k7",
#endif
        "cc", "memory");
}
#endif

}  // namespace recto::simt
