#include "verify/engine/engine_cache.h"

#include <utility>

namespace recto::verify {

Result<std::unique_ptr<EngineCache>> EngineCache::create(const ManagedOptions& options,
                                                         KvStore& store, CacheMoves moves,
                                                         CacheFault fault) {
  Result<cache::BlockManager> manager = make_manager(options);
  RECTO_RETURN_IF_ERROR(manager.status());
  return std::unique_ptr<EngineCache>(
      new EngineCache(options, std::move(manager).value(), store, std::move(moves), fault));
}

EngineCache::EngineCache(const ManagedOptions& options, cache::BlockManager manager, KvStore& store,
                         CacheMoves moves, CacheFault fault)
    : ManagedAllocator(options, std::move(manager)),
      store_(store),
      moves_(std::move(moves)),
      fault_(fault) {}

// At the end of a step a request releases what it has only if it has finished; otherwise the
// release is a beam switch that the simulator drew.
bool EngineCache::is_drawn_switch(sim::SequenceId sequence, TokenCount context) const {
  const sim::Request& request = *spec(sequence).request;
  return is_completing_ && request.decoding == sim::Decoding::kBeam && is_running(sequence) &&
         context < request.final_context();
}

sim::Release EngineCache::release(sim::SequenceId sequence, TokenCount context) {
  if (is_drawn_switch(sequence, context)) return {};
  return ManagedAllocator::release(sequence, context);
}

sim::Growth EngineCache::share(sim::SequenceId parent, sim::SequenceId child, TokenCount length) {
  if (is_drawn_switch(child, length)) return {};
  return ManagedAllocator::share(parent, child, length);
}

void EngineCache::on_copies(std::span<const cache::BlockCopy> copies) {
  if (copies.empty()) return;
  if (fault_ != CacheFault::kCopy) store_.copy(copies);
  moves_.copied(copies);
}

void EngineCache::on_swap_out(std::span<const cache::SwapCopy> copies) {
  store_.swap_out(copies);
  moves_.swapped_out(copies);
}

void EngineCache::on_swap_in(std::span<const cache::SwapCopy> copies) {
  if (fault_ != CacheFault::kSwapIn) store_.swap_in(copies);
  moves_.swapped_in(copies);
}

}  // namespace recto::verify
