#include "sim/testing/host_map.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/contract.h"

namespace recto::sim {

HostMap::HostMap(const Scheduler& scheduler, const HostMapOptions& options) {
  for (const SequenceGroup* group : scheduler.holders()) {
    if (group->parked) walk(*group, options);
  }
  std::int64_t held = 0;
  for (const std::int64_t count : counts_) held += count;
  const std::int64_t overhead = options.slots % options.block_size;
  RECTO_CHECK_LE(held + overhead, options.slots);
  counts_[static_cast<std::size_t>(SlotState::kOverhead)] = overhead;
  counts_[static_cast<std::size_t>(SlotState::kFree)] = options.slots - overhead - held;
}

// Tokens being copied to the host do not count there yet; tokens being copied back still do.
void HostMap::walk(const SequenceGroup& group, const HostMapOptions& options) {
  RECTO_CHECK(group.phase == SequenceGroupPhase::kSwappingOut ||
              group.phase == SequenceGroupPhase::kSwapped ||
              group.phase == SequenceGroupPhase::kSwappingIn);
  const Holding holding{
      .context = group.phase == SequenceGroupPhase::kSwappingOut ? 0 : group.context,
      .final_context =
          group.request.prompt_tokens.value() + group.request.output_tokens.value() - 1,
      .window = options.window};
  std::map<std::int32_t, std::vector<SlotState>> blocks;
  for (const std::vector<std::int32_t>& table : group.parked->entries) {
    for (std::size_t entry = 0; entry < table.size(); ++entry) {
      std::vector<SlotState>& slots = blocks[table[entry]];
      slots.resize(static_cast<std::size_t>(options.block_size), SlotState::kFree);
      for (std::int64_t offset = 0; offset < options.block_size; ++offset) {
        SlotState& state = slots[static_cast<std::size_t>(offset)];
        const std::int64_t position =
            static_cast<std::int64_t>(entry) * options.block_size + offset;
        state = std::min(state, state_at(holding, position, SlotState::kTail));
      }
    }
  }
  for (const auto& [block, slots] : blocks) {
    for (const SlotState state : slots) ++counts_[static_cast<std::size_t>(state)];
  }
}

}  // namespace recto::sim
