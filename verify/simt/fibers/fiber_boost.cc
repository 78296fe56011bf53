// The switch with Boost.Context, for machines without one of our own. It notifies sanitizers of
// switches: AddressSanitizer must know which stack is in use; ThreadSanitizer keeps each fiber's
// call stack and the events that happen before it.

#include "verify/simt/fibers/fiber.h"

#ifdef RECTO_SIMT_BOOST_CONTEXT

#include <boost/context/detail/fcontext.hpp>

#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#ifdef RECTO_SIMT_TSAN
#include <sanitizer/tsan_interface.h>

#include <mutex>
#include <vector>
#endif

namespace recto::simt {

namespace context = boost::context::detail;

#ifdef RECTO_SIMT_TSAN
struct Fiber::TsanContext {
  void* fiber = __tsan_create_fiber(0);
  unsigned lives = 0;
};
#else
struct Fiber::TsanContext {};
#endif

struct BoostSwitch {
  // On arrival, records where the fiber that was left is suspended.
  static Fiber& note(const context::transfer_t& arrival) {
    Fiber& arrived = *static_cast<Fiber*>(arrival.data);
    arrived.left_->context_ = arrival.fctx;
    return arrived;
  }

  static void start(context::transfer_t arrival) {
    Fiber& self = note(arrival);
#ifdef RECTO_SIMT_ASAN
    // The memory of the stack that was left: that of the OS thread's own is not known before.
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
    self.left_->stack_ = {static_cast<std::byte*>(const_cast<void*>(bottom)), bytes};
#endif
    self.entry_(self.argument_);
  }

#ifdef RECTO_SIMT_TSAN
  using Context = Fiber::TsanContext;
  inline static std::mutex mutex;
  // Contexts take a millisecond to make, so they are reused. Never destroyed: fibers may outlive
  // it.
  inline static auto& spares = *new std::vector<Context*>;

  static void renew(Fiber& fiber) {
    // Each life ends inside some calls, which remain on the context's call stack: it has room for
    // 65536.
    constexpr unsigned kLivesMax = 256;
    if (fiber.tsan_context_ == nullptr) {
      const std::lock_guard lock(mutex);
      if (spares.empty()) spares.push_back(new Context);
      fiber.tsan_context_.reset(spares.back());
      spares.pop_back();
    }
    Context& context = *fiber.tsan_context_;
    if (context.lives++ == kLivesMax) {
      __tsan_destroy_fiber(context.fiber);
      context = {.lives = 1};
    }
    fiber.tsan_fiber_ = context.fiber;
  }
#endif
};

void Fiber::GiveBack::operator()([[maybe_unused]] TsanContext* context) const {
#ifdef RECTO_SIMT_TSAN
  const std::lock_guard lock(BoostSwitch::mutex);
  BoostSwitch::spares.push_back(context);
#endif
}

void Fiber::prepare(const StackMemory& stack, FiberEntry entry, void* argument) {
  stack_ = stack;
  entry_ = entry;
  argument_ = argument;
  asan_stack_ = nullptr;
  // The frames of an abandoned fiber are gone.
  ASAN_UNPOISON_MEMORY_REGION(stack.bottom, stack.bytes);
#ifdef RECTO_SIMT_TSAN
  BoostSwitch::renew(*this);
#endif
  context_ = context::make_fcontext(stack.bottom + stack.bytes, stack.bytes, &BoostSwitch::start);
}

void Fiber::switch_between(Fiber& running, Fiber& next) {
  next.left_ = &running;
#ifdef RECTO_SIMT_ASAN
  __sanitizer_start_switch_fiber(&running.asan_stack_, next.stack_.bottom, next.stack_.bytes);
#endif
#ifdef RECTO_SIMT_TSAN
  // The OS thread's own fiber. The OS thread may differ from the last time.
  if (running.tsan_context_ == nullptr) running.tsan_fiber_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(next.tsan_fiber_, 0);
#endif
  BoostSwitch::note(context::jump_fcontext(next.context_, &next));
#ifdef RECTO_SIMT_ASAN
  __sanitizer_finish_switch_fiber(running.asan_stack_, nullptr, nullptr);
#endif
}

}  // namespace recto::simt

#endif
