#pragma once

// Fibers: stacks of their own that one OS thread switches between by hand. A switch keeps the
// registers that a call must keep, and nothing else; a fiber stays on the OS thread it began on.
//
// x86-64 has a switch of our own (fiber_x86_64.cc); other machines, and whoever defines
// RECTO_SIMT_BOOST_CONTEXT, take Boost.Context's (fiber_boost.cc).

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define RECTO_SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RECTO_SIMT_ASAN 1
#endif
#endif

#if !defined(__x86_64__) && !defined(RECTO_SIMT_BOOST_CONTEXT)
#define RECTO_SIMT_BOOST_CONTEXT
#endif

namespace recto::simt {

// Memory of a stack. The page below `bottom` may not be touched.
struct StackMemory {
  std::byte* bottom = nullptr;
  std::size_t bytes = 0;
};

using FiberEntry = void (*)(void* argument);

// Where one fiber stands while another runs. As constructed, it is for the OS thread's own stack,
// which is left by the first switch.
class Fiber {
 public:
  // The next switch to it calls entry(argument), which must not return. O(1), allocates nothing.
  void prepare(const StackMemory& stack, FiberEntry entry, void* argument);

  // As prepared; empty for the OS thread's own.
  const StackMemory& stack() const { return stack_; }

  // From the fiber that runs, `running`, to another one.
  static void switch_between(Fiber& running, Fiber& next);

 private:
  static void start(Fiber& self);

  void* context_ = nullptr;  // the stack pointer, or Boost's context
  Fiber* left_ = nullptr;    // the one that the last switch to this one left
  StackMemory stack_;
  FiberEntry entry_ = nullptr;
  void* argument_ = nullptr;
  void* sanitizer_stack_ = nullptr;  // AddressSanitizer's fake stack, while this one stands

  friend struct FiberStart;
};

#if !defined(RECTO_SIMT_BOOST_CONTEXT)
// Saves the running stack pointer, and takes the next one.
extern "C" void recto_simt_switch(void** saved_stack_pointer, void* next_stack_pointer);

#if !defined(RECTO_SIMT_ASAN)
inline void Fiber::switch_between(Fiber& running, Fiber& next) {
  recto_simt_switch(&running.context_, next.context_);
}
#endif
#endif

}  // namespace recto::simt
