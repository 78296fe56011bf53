#include "cuda/cache/pinning.h"

#include <optional>
#include <string>

#include "core/contract.h"
#include "cuda/cache/admission.h"
#include "cuda/cache/content_reader.h"

namespace recto::cache {
namespace {

// Calls visit for each block that has the node's content.
template <typename Visit>
void visit_blocks(const CacheCore& core, NodeId node, const Visit& visit) {
  for (std::int32_t group = 0; group < core.geometry.num_groups(); ++group) {
    const BlockId block = core.block_with(node, group);
    if (block != kNoBlock) visit(block);
  }
}

}  // namespace

// Here the last block is included: its last token need not be computed.
Result<Pin> pin(CacheCore& core, const Prompt& prompt) {
  RECTO_RETURN_IF_ERROR(check_tokens(prompt.tokens));
  const std::int64_t length = std::ssize(prompt.tokens.ids);
  const PrefixMatch match = match_prefix(core, prompt, core.geometry.full_blocks(length));
  if (match.blocks == 0) {
    return Status::invalid_input("no block of these " + std::to_string(length) +
                                 " tokens is cached");
  }
  if (core.pins.is_full()) {
    return Status::exhausted("all " + std::to_string(core.pins.size()) + " pins are in use");
  }
  for (NodeId node = match.end; node != kRoot; node = core.index.parent(node)) {
    if (!core.index.add_pin(node)) break;
    visit_blocks(core, node, [&](BlockId block) { core.device.pin(block); });
  }
  core.index.add_user(match.end);
  core.statistics.collisions += match.collisions;
  return Pin{.handle = core.pins.open({.end = match.end}),
             .length = TokenCount(match.blocks * core.geometry.block_size())};
}

// Releases the end first, so that it is evicted before the start.
Status unpin(CacheCore& core, PinHandle pin) {
  const std::optional<PinRecord> record = core.pins.find(pin);
  if (!record) {
    return Status::invalid_input("pin " + internal::describe(pin) +
                                 " is none: taken back before, or dropped by a reset");
  }
  for (NodeId node = record->end; node != kRoot; node = core.index.parent(node)) {
    if (!core.index.remove_pin(node)) break;
    visit_blocks(core, node, [&](BlockId block) { core.device.unpin(block); });
  }
  core.index.remove_user(record->end);
  core.pins.close(pin.index);
  return Status::ok();
}

}  // namespace recto::cache
