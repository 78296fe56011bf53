#pragma once

// Tells ThreadSanitizer of fibers and of switches between them. Nothing elsewhere: not in kernels
// that are compiled with -fsanitize=thread for hooks of our own, either, so that whoever links
// ThreadSanitizer's runtime says so (RECTO_SIMT_TSAN, by --config=tsan).

#ifdef RECTO_SIMT_TSAN
#include <sanitizer/tsan_interface.h>

#include <memory>
#endif

namespace recto::simt {

#ifdef RECTO_SIMT_TSAN

// What ThreadSanitizer knows of a fiber: the calls on its stack, and what it comes after.
class TsanFiber {
 public:
  // For a new life of the fiber.
  void renew();

  // From the running fiber to another one of the same OS thread, which comes after it. Inlined,
  // since a call would begin on one stack and return on another.
  [[gnu::always_inline]] static void announce_switch(TsanFiber& running, const TsanFiber& next) {
    // The OS thread's own: not always the same thread's as the last time.
    if (running.own_ == nullptr) running.current_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(next.current_, 0);
  }

 private:
  struct Context;
  class Spares;
  struct GiveBack {
    void operator()(Context* context) const;
  };
  std::unique_ptr<Context, GiveBack> own_;
  void* current_ = nullptr;
};

#else

class TsanFiber {
 public:
  void renew() {}
  static void announce_switch(TsanFiber&, const TsanFiber&) {}
};

#endif

}  // namespace recto::simt
