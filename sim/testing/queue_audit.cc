#include "sim/testing/queue_audit.h"

#include <algorithm>
#include <set>
#include <vector>

#include "core/contract.h"
#include "sim/testing/token_chain.h"

namespace recto::sim {
namespace {

bool waits(const SequenceGroup& group) {
  return group.phase == SequenceGroupPhase::kWaiting || group.phase == SequenceGroupPhase::kSwapped;
}

std::int64_t blocks_of(std::int64_t tokens, std::int64_t block_size) {
  return tokens / block_size + (tokens % block_size == 0 ? 0 : 1);
}

// A group on the host needs its blocks again, and for each member an unshared slot for the next
// token.
std::int64_t blocks_to_resume(const SequenceGroup& group, std::int64_t block_size) {
  std::set<std::int32_t> held;
  std::set<std::int32_t> written;
  std::int64_t fresh = 0;
  const auto next = static_cast<std::size_t>(group.context / block_size);
  for (const std::vector<std::int32_t>& table : group.parked->entries) {
    held.insert(table.begin(), table.end());
    const bool has_place = next < table.size() && written.insert(table[next]).second;
    if (!has_place) ++fresh;
  }
  return static_cast<std::int64_t>(held.size()) + fresh;
}

}  // namespace

// First come, first served: preempted requests arrived before all that were never admitted.
const SequenceGroup* QueueAudit::head() const {
  for (const auto& [id, group] : groups_) {
    if (waits(*group)) return group;
  }
  return nullptr;
}

void QueueAudit::check(const GaugeValues& gauges, const SlotMap& map) const {
  RECTO_CHECK_EQ(gauges[Gauge::kWaitingRequests],
                 std::count_if(groups_.begin(), groups_.end(),
                               [](auto& entry) { return waits(*entry.second); }));
  const SequenceGroup* first = head();
  const Room room = first == nullptr ? Room() : room_for(*first, map);
  const std::int64_t reusable = map.count(SlotState::kFree) + map.count(SlotState::kCached);
  const bool is_unplaceable = room.is_enough_in_sum && !room.has_places;
  RECTO_CHECK_EQ(gauges[Gauge::kBlockedFree], room.has_places ? 0 : reusable);
  RECTO_CHECK_EQ(gauges[Gauge::kUnplaceableFree], is_unplaceable ? reusable : 0);
  // Paging never fails for lack of contiguous space.
  if (allocator_.is_paged()) RECTO_CHECK(!is_unplaceable);
}

QueueAudit::Room QueueAudit::room_for(const SequenceGroup& group, const SlotMap& map) const {
  if (!allocator_.is_paged()) return room_for_regions(group, map);
  const std::int64_t block_size = allocator_.block_size().value();
  if (group.phase == SequenceGroupPhase::kSwapped) {
    return room_for_blocks(blocks_to_resume(group, block_size), 0, map);
  }
  const std::int64_t prompt = group.request.prompt_tokens.value();
  if (options_.batching == Batching::kStatic) {
    const Hits hits = find_hits(group, prompt);
    const std::int64_t whole = prompt + group.request.output_tokens.value() - 1;
    return room_for_blocks(blocks_of(whole, block_size) - hits.blocks, hits.evictable, map);
  }
  const std::int64_t wanted = context_wanted(group);
  const Hits hits = find_hits(group, wanted);
  std::int64_t blocks = blocks_of(wanted, block_size) - hits.blocks;
  if (wanted > prompt) {
    // Preempted samples: each one after the first recomputes the tokens behind the prompt's full
    // blocks.
    const std::int64_t own = blocks_of(wanted, block_size) - prompt / block_size;
    blocks += own * (group.request.width - 1);
  }
  return room_for_blocks(blocks, hits.evictable, map);
}

std::int64_t QueueAudit::context_wanted(const SequenceGroup& group) const {
  const SchedulerOptions& rules = options_.rules;
  const std::int64_t target = group.prefill_target;
  if (rules.admission == AdmissionRule::kWholePrompt || rules.prefill == PrefillRule::kWhole) {
    return target;
  }
  const std::int64_t cached = find_hits(group, target).blocks * allocator_.block_size().value();
  return std::min(target, cached + rules.max_batched_tokens.value());
}

// `kept` blocks without a holder are hits, so they are not available for other blocks.
QueueAudit::Room QueueAudit::room_for_blocks(std::int64_t blocks, std::int64_t kept,
                                             const SlotMap& map) const {
  const std::int64_t block_size = allocator_.block_size().value();
  const std::int64_t needed =
      blocks + kept + blocks_of(options_.rules.watermark.value(), block_size);
  const std::int64_t reusable = map.count(SlotState::kFree) + map.count(SlotState::kCached);
  return {.is_enough_in_sum = needed * block_size <= reusable,
          .has_places = needed <= map.places_for(block_size, block_size)};
}

QueueAudit::Room QueueAudit::room_for_regions(const SequenceGroup& group,
                                              const SlotMap& map) const {
  const std::int64_t requested = requested_slots(options_.pool, group.request);
  std::int64_t placed = requested;
  if (options_.pool.placement == PlacementKind::kBuddy) {
    placed = 1;
    while (placed < requested) placed *= 2;
  }
  const std::int64_t width = group.request.width;
  const std::int64_t spare = options_.rules.watermark.value();
  const std::int64_t alignment = options_.pool.placement == PlacementKind::kBuddy ? placed : 1;
  const bool leaves_spare = placed * width + spare <= map.count(SlotState::kFree);
  return {.is_enough_in_sum = requested * width + spare <= map.count(SlotState::kFree),
          .has_places = leaves_spare && map.places_for(placed, alignment) >= width};
}

// The last token is always computed, so its block is not a hit.
QueueAudit::Hits QueueAudit::find_hits(const SequenceGroup& group, std::int64_t length) const {
  Hits hits;
  if (!allocator_.reuses_prefixes()) return hits;
  const std::int64_t block_size = allocator_.block_size().value();
  std::map<std::uint64_t, BlockId> cached;  // by the hash of their last slot
  for (std::int64_t block = 0; block < allocator_.counts().pool.value() / block_size; ++block) {
    const BlockId id(static_cast<std::int32_t>(block));
    if (allocator_.is_cached(id)) RECTO_CHECK(cached.emplace(memory_.block_end(id), id).second);
  }
  const std::vector<std::uint64_t> chain = chain_of(group.request, 0, length);
  while ((hits.blocks + 1) * block_size < length) {
    const auto found =
        cached.find(chain[static_cast<std::size_t>((hits.blocks + 1) * block_size - 1)]);
    if (found == cached.end()) break;
    if (allocator_.is_evictable(found->second)) ++hits.evictable;
    ++hits.blocks;
  }
  return hits;
}

}  // namespace recto::sim
