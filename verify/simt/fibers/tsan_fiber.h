#pragma once

// Notifies ThreadSanitizer of fibers and of switches between them. Does nothing in other builds,
// not even in kernels that are compiled with -fsanitize=thread for our own hooks; so builds that
// link ThreadSanitizer's runtime say so (RECTO_SIMT_TSAN, set by --config=tsan).

#ifdef RECTO_SIMT_TSAN
#include <sanitizer/tsan_interface.h>

#include <memory>
#endif

namespace recto::simt {

#ifdef RECTO_SIMT_TSAN

// What ThreadSanitizer knows about a fiber: the calls on its stack, and what happened before it.
class TsanFiber {
 public:
  // Starts over when the fiber is reused.
  void renew();

  // From the running fiber to another one of the same OS thread, which is then ordered after it.
  // Inlined, because a call would begin on one stack and return on another.
  [[gnu::always_inline]] static void announce_switch(TsanFiber& running, const TsanFiber& next) {
    // The OS thread's own fiber: not always the same OS thread as the last time.
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
