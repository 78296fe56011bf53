// The switch with Boost.Context, for machines without one of our own.

#include "verify/simt/fibers/fiber.h"

#ifdef RECTO_SIMT_BOOST_CONTEXT

#include <boost/context/detail/fcontext.hpp>

#include "verify/simt/fibers/fiber_sanitizer.h"

namespace recto::simt {

namespace context = boost::context::detail;

// On arrival, records where the fiber that was left is suspended.
struct FiberStart {
  static Fiber& note(const context::transfer_t& arrival) {
    Fiber& arrived = *static_cast<Fiber*>(arrival.data);
    arrived.left_->context_.stack_pointer = arrival.fctx;
    return arrived;
  }
  static void run(context::transfer_t arrival) { Fiber::start(note(arrival)); }
};

void Fiber::prepare(const StackMemory& stack, FiberEntry entry, void* argument) {
  stack_ = stack;
  entry_ = entry;
  argument_ = argument;
  sanitizer_stack_ = nullptr;
  announce_new_stack(stack);
  tsan_.renew();
  context_.stack_pointer =
      context::make_fcontext(stack.bottom + stack.bytes, stack.bytes, &FiberStart::run);
}

void Fiber::start(Fiber& self) {
  announce_first_arrival(self.left_->stack_);
  self.entry_(self.argument_);
}

void Fiber::switch_between(Fiber& running, Fiber& next) {
  announce_leaving(&running.sanitizer_stack_, next.stack_);
  next.left_ = &running;
  TsanFiber::announce_switch(running.tsan_, next.tsan_);
  FiberStart::note(context::jump_fcontext(next.context_.stack_pointer, &next));
  announce_return(running.sanitizer_stack_);
}

}  // namespace recto::simt

#endif
