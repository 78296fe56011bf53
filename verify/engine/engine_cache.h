#pragma once

// The production block manager under the simulator's scheduler, with memory of K and V: it makes
// the copies that the manager requests at once.
//
// The scheduler draws at random which beam continues which. Here it draws a switch at every step,
// so that it accounts for the beams' slots. The engine and this class ignore the draw and follow
// the beams' scores (`branch`). The scheduler does not know this.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "verify/block_manager/managed_allocator.h"
#include "verify/engine/engine.h"
#include "verify/engine/kv_store.h"

namespace recto::verify {

// The record of a run, up to now.
struct EngineRecord {
  void tell(std::int64_t request, std::string text) {
    run.events.push_back({.step = now, .request = request, .text = std::move(text)});
  }

  EngineRun run = {};
  std::int64_t now = 0;  // steps
};

class EngineCache final : public ManagedAllocator {
 public:
  // The size follows from the requests. The store and the record must outlive the cache. Fails if
  // the manager cannot be created.
  static Result<std::unique_ptr<EngineCache>> create(const EngineOptions& options,
                                                     const std::vector<GenerationRequest>& requests,
                                                     KvStore& store, EngineRecord& record);

  sim::Growth share(sim::SequenceId parent, sim::SequenceId child, TokenCount length) override;
  sim::Release release(sim::SequenceId sequence, TokenCount context) override;

  // Called before and after the scheduler completes a step.
  void begin_completion() { is_completing_ = true; }
  void end_completion() { is_completing_ = false; }

 private:
  using ManagedAllocator::ManagedAllocator;

  void on_copies(std::span<const cache::BlockCopy> copies) override;
  void on_swap_out(std::span<const cache::SwapCopy> copies) override;
  void on_swap_in(std::span<const cache::SwapCopy> copies) override;
  bool is_drawn_switch(sim::SequenceId sequence, TokenCount context) const;

  EngineFault fault_ = EngineFault::kNone;
  KvStore* store_ = nullptr;
  EngineRecord* record_ = nullptr;
  bool is_completing_ = false;
};

}  // namespace recto::verify
