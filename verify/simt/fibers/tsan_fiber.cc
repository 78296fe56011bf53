#include "verify/simt/fibers/tsan_fiber.h"

#ifdef RECTO_SIMT_TSAN

#include <mutex>
#include <utility>
#include <vector>

namespace recto::simt {
namespace {

// Each life ends inside some calls, which remain on the context's call stack: it has room for
// 65536.
constexpr unsigned kLivesMax = 256;

}  // namespace

struct TsanFiber::Context {
  Context() : fiber(__tsan_create_fiber(0)) {}
  ~Context() { __tsan_destroy_fiber(fiber); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void* const fiber;
  unsigned lives = 0;
};

// Contexts take a millisecond to make, so they are reused.
class TsanFiber::Spares {
 public:
  static Spares& instance() {
    // Never destroyed: fibers may outlive it.
    static auto* spares = new Spares;
    return *spares;
  }

  std::unique_ptr<Context> take() {
    const std::lock_guard lock(mutex_);
    if (contexts_.empty()) return std::make_unique<Context>();
    std::unique_ptr<Context> context = std::move(contexts_.back());
    contexts_.pop_back();
    return context;
  }

  void give_back(std::unique_ptr<Context> context) {
    const std::lock_guard lock(mutex_);
    contexts_.push_back(std::move(context));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Context>> contexts_;
};

void TsanFiber::GiveBack::operator()(Context* context) const {
  Spares::instance().give_back(std::unique_ptr<Context>(context));
}

void TsanFiber::renew() {
  if (own_ == nullptr) own_.reset(Spares::instance().take().release());
  if (own_->lives == kLivesMax) {
    delete own_.release();
    own_.reset(std::make_unique<Context>().release());
  }
  ++own_->lives;
  current_ = own_->fiber;
}

}  // namespace recto::simt

#endif
