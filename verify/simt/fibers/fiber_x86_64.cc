// The switch for x86-64, by the System V calling convention: six registers and the stack pointer.
// Rounding modes and the like (mxcsr, x87) are everybody's and stay.

#include "verify/simt/fibers/fiber.h"

#ifndef RECTO_SIMT_BOOST_CONTEXT

#include <cstdint>

#include "verify/simt/fibers/fiber_sanitizer.h"

// rdi: where to save the stack pointer; rsi: the one to load. It ends in a jump: a `ret` would be
// predicted to return to the last caller, who is another fiber's.
asm(R"(
.text
.globl recto_simt_switch
.type recto_simt_switch, @function
recto_simt_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  pop %rdx
  jmp *%rdx
.size recto_simt_switch, .-recto_simt_switch

.globl recto_simt_start
.type recto_simt_start, @function
recto_simt_start:
  mov %r12, %rdi
  call *%r13
  ud2
.size recto_simt_start, .-recto_simt_start
.section .note.GNU-stack,"",@progbits
.text
)");

extern "C" void recto_simt_start();

namespace recto::simt {

struct FiberStart {
  static void run(void* fiber) { Fiber::start(*static_cast<Fiber*>(fiber)); }
};

void Fiber::prepare(const StackMemory& stack, FiberEntry entry, void* argument) {
  stack_ = stack;
  entry_ = entry;
  argument_ = argument;
  sanitizer_stack_ = nullptr;
  announce_new_stack(stack);
  auto* top = reinterpret_cast<std::uintptr_t*>(stack.bottom + stack.bytes);
  // recto_simt_start stands where a return address would. When these seven words have been taken
  // off, the stack pointer is a multiple of 16 again, as a call demands.
  const std::uintptr_t saved[] = {0,                                                   // r15
                                  0,                                                   // r14
                                  reinterpret_cast<std::uintptr_t>(&FiberStart::run),  // r13
                                  reinterpret_cast<std::uintptr_t>(this),              // r12
                                  0,                                                   // rbx
                                  0,                                                   // rbp
                                  reinterpret_cast<std::uintptr_t>(&recto_simt_start)};
  constexpr int kWords = sizeof saved / sizeof saved[0];
  std::uintptr_t* base = top - (kWords + 2);
  for (int i = 0; i < kWords; ++i) base[i] = saved[i];
  context_ = base;
}

#ifdef RECTO_SIMT_ASAN
void Fiber::start(Fiber& self) {
  announce_first_arrival(self.left_->stack_);
  self.entry_(self.argument_);
}

void Fiber::switch_between(Fiber& running, Fiber& next) {
  announce_leaving(&running.sanitizer_stack_, next.stack_);
  next.left_ = &running;
  recto_simt_switch(&running.context_, next.context_);
  announce_return(running.sanitizer_stack_);
}
#else
void Fiber::start(Fiber& self) { self.entry_(self.argument_); }
#endif

}  // namespace recto::simt

#endif
