// How a fiber begins on x86-64; the switch itself is in the header.

#include "verify/simt/fibers/fiber.h"

#ifndef RECTO_SIMT_BOOST_CONTEXT

#include "verify/simt/fibers/fiber_sanitizer.h"

// rbp holds the Fiber; the function to call with it is on top of the stack.
asm(R"(
.text
.globl recto_simt_start
.type recto_simt_start, @function
recto_simt_start:
  mov %rbp, %rdi
  xor %ebp, %ebp
  call *(%rsp)
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
  tsan_.renew();
  // A call requires the stack pointer to be a multiple of 16.
  using Entry = void (*)(void*);
  auto* top = reinterpret_cast<Entry*>(stack.bottom + stack.bytes) - 2;
  *top = &FiberStart::run;
  context_ = {top, this, reinterpret_cast<void*>(&recto_simt_start)};
}

#ifdef RECTO_SIMT_ANNOUNCES_SWITCHES
void Fiber::start(Fiber& self) {
  announce_first_arrival(self.left_->stack_);
  self.entry_(self.argument_);
}

void Fiber::switch_between(Fiber& running, Fiber& next) {
  announce_leaving(&running.sanitizer_stack_, next.stack_);
  next.left_ = &running;
  TsanFiber::announce_switch(running.tsan_, next.tsan_);
  switch_stacks(running.context_, next.context_);
  announce_return(running.sanitizer_stack_);
}
#else
void Fiber::start(Fiber& self) { self.entry_(self.argument_); }
#endif

}  // namespace recto::simt

#endif
