// How a fiber begins on x86-64; the switch itself is in the header.

#include "verify/simt/fibers/fiber.h"

#ifndef RECTO_SIMT_BOOST_CONTEXT

namespace recto::simt {
namespace {

// rbp holds the argument; the function to call with it is on top of the stack.
[[gnu::naked]] void start() {
  __asm__(
      "mov %rbp, %rdi\n\t"
      "xor %ebp, %ebp\n\t"
      "call *(%rsp)\n\t"
      "ud2");
}

}  // namespace

void Fiber::prepare(const StackMemory& stack, FiberEntry entry, void* argument) {
  stack_ = stack;
  // A call requires the stack pointer to be a multiple of 16.
  auto* top = reinterpret_cast<FiberEntry*>(stack.bottom + stack.bytes) - 2;
  *top = entry;
  stack_pointer_ = top;
  frame_pointer_ = argument;
  instruction_ = reinterpret_cast<void*>(&start);
}

}  // namespace recto::simt

#endif
