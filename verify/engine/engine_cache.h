#pragma once

// The production block manager under the simulator's scheduler, with K and V behind it: what it
// says is to be copied is copied at once.
//
// The scheduler draws at random which beam goes on from which. It is made to do so at every step,
// which is how it comes to see to their slots; that the draw is not followed, but the beams' scores
// are, stays between the engine and this class (`branch`).

#include <functional>
#include <memory>

#include "verify/engine/kv_store.h"
#include "verify/managed_simulation/managed_allocator.h"

namespace recto::verify {

// Told after it is done.
struct CacheMoves {
  std::function<void(std::span<const cache::BlockCopy>)> copied;
  std::function<void(std::span<const cache::SwapCopy>)> swapped_out;
  std::function<void(std::span<const cache::SwapCopy>)> swapped_in;
};

// For tests of the law: what is left out.
enum class CacheFault { kNone, kCopy, kSwapIn };

class EngineCache final : public ManagedAllocator {
 public:
  // `store` outlives it. Fails where the manager can't be made.
  static Result<std::unique_ptr<EngineCache>> create(const ManagedOptions& options, KvStore& store,
                                                     CacheMoves moves, CacheFault fault);

  sim::Growth share(sim::SequenceId parent, sim::SequenceId child, TokenCount length) override;
  sim::Release release(sim::SequenceId sequence, TokenCount context) override;

  // Between the two, the scheduler completes a step.
  void begin_completion() { is_completing_ = true; }
  void end_completion() { is_completing_ = false; }

 private:
  EngineCache(const ManagedOptions& options, cache::BlockManager manager, KvStore& store,
              CacheMoves moves, CacheFault fault);

  void on_copies(std::span<const cache::BlockCopy> copies) override;
  void on_swap_out(std::span<const cache::SwapCopy> copies) override;
  void on_swap_in(std::span<const cache::SwapCopy> copies) override;
  bool is_drawn_switch(sim::SequenceId sequence, TokenCount context) const;

  KvStore& store_;
  const CacheMoves moves_;
  const CacheFault fault_;
  bool is_completing_ = false;
};

}  // namespace recto::verify
