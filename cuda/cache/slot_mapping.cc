#include "cuda/cache/slot_mapping.h"

#include <algorithm>

#include "cuda/cache/cache_core.h"
#include "cuda/cache/message.h"

namespace recto::cache {
namespace {

// Calls visit(logical block, first token, end token) for each block that a range of tokens
// overlaps.
template <typename Visit>
void visit_blocks(const CacheGeometry& geometry, const TokenRange& tokens, const Visit& visit) {
  const std::int64_t end = tokens.first + tokens.count;
  for (std::int64_t token = tokens.first; token < end;) {
    const std::int64_t block = geometry.full_blocks(token);
    const std::int64_t block_end = std::min(end, geometry.slots_of(block).end);
    visit(block, token, block_end);
    token = block_end;
  }
}

Status check_range(const CacheCore& core, std::int32_t group, const TokenRange& tokens) {
  const Result<std::int32_t> index = core.sequences.find_running(tokens.sequence);
  if (!index.is_ok()) return index.status();
  const std::int64_t capacity = core.device.row(index.value()).blocks * core.geometry.block_size();
  if (tokens.first < 0 || tokens.first > capacity || tokens.count < 0 ||
      tokens.count > capacity - tokens.first) {
    return Status::invalid_input(message("sequence ", tokens.sequence, ": ", tokens.count,
                                         " tokens from ", tokens.first,
                                         " on; expected a range within its ", capacity, " slots"));
  }
  Status status = Status::ok();
  visit_blocks(core.geometry, tokens, [&](std::int64_t block, std::int64_t token, std::int64_t) {
    const TablePlace place{index.value(), group, block};
    const bool is_there = block >= core.device.first(place.sequence, group);
    if (is_there && core.device.is_writable(place)) return;
    status = Status::invalid_input(message("sequence ", tokens.sequence, ": token ", token,
                                           " is in a block that ",
                                           is_there ? "is shared" : "was given back"));
  });
  return status;
}

}  // namespace

Status write_slot_mapping(const BlockManager& manager, std::int32_t group,
                          std::span<const TokenRange> tokens, std::span<std::int64_t> slots) {
  const CacheCore& core = CacheCore::of(manager);
  if (group < 0 || group >= core.geometry.num_groups()) {
    return Status::invalid_input(
        message("slot mapping: group ", group, "; expected 0 to ", core.geometry.num_groups() - 1));
  }
  std::int64_t room = std::ssize(slots);
  for (const TokenRange& range : tokens) {
    RECTO_RETURN_IF_ERROR(check_range(core, group, range).in("slot mapping"));
    room -= range.count;
    if (room >= 0) continue;
    return Status::invalid_input(
        message("slot mapping: ", slots.size(), " slots; expected one for each token"));
  }
  auto slot = slots.begin();
  for (const TokenRange& range : tokens) {
    visit_blocks(
        core.geometry, range, [&](std::int64_t block, std::int64_t token, std::int64_t end) {
          const BlockId id = core.device.block({range.sequence.index, group, block});
          const std::int64_t shift =
              id.value() * core.geometry.block_size() - core.geometry.slots_of(block).begin;
          for (; token < end; ++token) *slot++ = token + shift;
        });
  }
  std::ranges::fill(slots.subspan(static_cast<std::size_t>(slot - slots.begin())), kNoSlot);
  return Status::ok();
}

}  // namespace recto::cache
