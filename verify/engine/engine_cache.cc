#include "verify/engine/engine_cache.h"

#include <fmt/format.h>

#include <algorithm>

namespace recto::verify {

Result<std::unique_ptr<EngineCache>> EngineCache::create(
    const EngineOptions& options, const std::vector<GenerationRequest>& requests, KvStore& store,
    EngineRecord& record) {
  ManagedOptions managed{.pool_slots = TokenCount(options.num_blocks * options.block_size),
                         .block_size = TokenCount(options.block_size),
                         .caching = options.caching,
                         .host_pool = TokenCount(options.host_blocks * options.block_size),
                         .max_sequences = options.max_sequences,
                         .max_length = TokenCount(options.max_length)};
  for (const GenerationRequest& request : requests) {
    managed.max_width = std::max(managed.max_width, request.width);
    // The manager counts room for all members of a request as if for one sequence. Waiting
    // sequences count, too.
    managed.max_sequences += request.width;
  }
  Result<cache::BlockManager> manager = make_manager(managed);
  RECTO_RETURN_IF_ERROR(manager.status());
  auto cache = std::unique_ptr<EngineCache>(new EngineCache(managed, std::move(manager).value()));
  cache->fault_ = options.fault;
  cache->store_ = &store;
  cache->record_ = &record;
  return cache;
}

// True if the release is a beam switch that the simulator drew: at the end of a step any other
// release comes from a finished request.
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
  std::vector<BlockPair> pairs;
  for (const cache::BlockCopy& copy : copies) {
    pairs.push_back({copy.source.value(), copy.destination.value()});
    record_->tell(
        -1, fmt::format("block {} is copied to {}", pairs.back().source, pairs.back().destination));
  }
  if (fault_ != EngineFault::kDroppedCopy) store_->copy(pairs);
  record_->run.counts.copied_blocks += std::ssize(copies);
}

void EngineCache::on_swap_out(std::span<const cache::SwapCopy> copies) {
  std::vector<BlockPair> pairs;
  for (const auto& copy : copies) pairs.push_back({copy.device.value(), copy.host.value()});
  store_->swap_out(pairs);
  record_->run.counts.swapped_blocks += std::ssize(copies);
  record_->tell(-1, fmt::format("{} blocks go to the host", copies.size()));
}

void EngineCache::on_swap_in(std::span<const cache::SwapCopy> copies) {
  std::vector<BlockPair> pairs;
  for (const auto& copy : copies) pairs.push_back({copy.host.value(), copy.device.value()});
  if (fault_ != EngineFault::kDroppedSwapIn) store_->swap_in(pairs);
  record_->run.counts.swapped_blocks += std::ssize(copies);
  record_->tell(-1, fmt::format("{} blocks come back", copies.size()));
}

}  // namespace recto::verify
