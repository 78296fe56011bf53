#pragma once

// The production block manager under the simulator's scheduler, with K and V behind it: copies that
// it requests are made at once.
//
// The scheduler draws at random which beam continues which. It is made to do so at every step, so
// that it manages their slots. The engine and this class ignore the draw and follow the beams'
// scores (`branch`); the scheduler does not know.

#include <functional>
#include <memory>

#include "verify/engine/kv_store.h"
#include "verify/block_manager/managed_allocator.h"

namespace recto::verify {

// Callbacks, called after the move is done.
struct CacheMoves {
  std::function<void(std::span<const cache::BlockCopy>)> copied;
  std::function<void(std::span<const cache::SwapCopy>)> swapped_out;
  std::function<void(std::span<const cache::SwapCopy>)> swapped_in;
};

// What is left out, for tests of the law.
enum class CacheFault { kNone, kCopy, kSwapIn };

class EngineCache final : public ManagedAllocator {
 public:
  // `store` must outlive the cache. Fails if the manager cannot be created.
  static Result<std::unique_ptr<EngineCache>> create(const ManagedOptions& options, KvStore& store,
                                                     CacheMoves moves, CacheFault fault);

  sim::Growth share(sim::SequenceId parent, sim::SequenceId child, TokenCount length) override;
  sim::Release release(sim::SequenceId sequence, TokenCount context) override;

  // Called before and after the scheduler completes a step.
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
