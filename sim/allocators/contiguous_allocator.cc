#include "sim/allocators/contiguous_allocator.h"

#include <algorithm>
#include <bit>

#include "core/contract.h"

namespace recto::sim {

ContiguousAllocator::ContiguousAllocator(const ContiguousOptions& options)
    : options_(options), placement_(make_placement(options.placement, options.pool_slots)) {}

TokenCount ContiguousAllocator::reservation(const Request& request) const {
  switch (options_.rule) {
    case ReservationRule::kMax:
      return options_.max_length;
    case ReservationRule::kPow2: {
      const auto output = static_cast<std::uint64_t>(request.output_tokens.value());
      const TokenCount rounded(static_cast<std::int64_t>(std::bit_ceil(output)));
      return std::min(request.prompt_tokens + rounded, options_.max_length);
    }
    case ReservationRule::kOracle:
      return request.final_context();
  }
  RECTO_UNREACHABLE("a fourth rule");
}

void ContiguousAllocator::open(SequenceId sequence, const SequenceSpec& spec) {
  const auto position = static_cast<std::size_t>(sequence.value());
  if (position >= holders_.size()) holders_.resize(position + 1);
  RECTO_CHECK_EQ(holders_[position].region.size, 0);
  holders_[position].spec = spec;
}

void ContiguousAllocator::close(SequenceId sequence) {
  RECTO_CHECK_EQ(holder(sequence).region.size, 0);
}

bool ContiguousAllocator::can_ever_hold(const Request& request, TokenCount spare) const {
  if (request.final_length() > options_.max_length) return false;
  const std::int64_t slots = reservation(request).value();
  const std::int64_t needed = placement_->rounded(slots) * request.width + spare.value();
  return placement_->capacity(slots) >= request.width && needed <= options_.pool_slots.value();
}

// Tries to place the regions and undoes it: with several members no closed form gives the answer.
Fit ContiguousAllocator::fit(std::span<const SequenceId> members, TokenCount,
                             TokenCount spare) const {
  const std::int64_t slots = reservation(*holder(members.front()).spec.request).value();
  const std::int64_t count = static_cast<std::int64_t>(members.size());
  const std::int64_t needed = placement_->rounded(slots) * count + spare.value();
  if (slots * count + spare.value() > placement_->free_slots()) return Fit::kShort;
  if (needed > placement_->free_slots()) return Fit::kNoHole;
  std::vector<Region> placed;
  while (static_cast<std::int64_t>(placed.size()) < count) {
    const std::optional<Region> region = placement_->place(slots);
    if (!region) break;
    placed.push_back(*region);
  }
  for (auto region = placed.rbegin(); region != placed.rend(); ++region) placement_->free(*region);
  return static_cast<std::int64_t>(placed.size()) == count ? Fit::kFits : Fit::kNoHole;
}

bool ContiguousAllocator::place_all(std::span<const SequenceId> members) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    Holder& member = holder(members[i]);
    const std::optional<Region> region =
        placement_->place(reservation(*member.spec.request).value());
    if (!region) {
      while (i-- > 0) {
        placement_->free(holder(members[i]).region);
        holder(members[i]).region = Region();
      }
      return false;
    }
    member.region = *region;
  }
  return true;
}

std::optional<Growth> ContiguousAllocator::admit(std::span<const SequenceId> members,
                                                 TokenCount length) {
  const Holder& leader = holder(members.front());
  const TokenCount requested = reservation(*leader.spec.request);
  RECTO_CHECK_LE(length, requested);
  if (!place_all(members)) return std::nullopt;
  region_count_ += static_cast<std::int64_t>(members.size());
  return Growth{.held_after = TokenCount(leader.region.size), .requested = requested};
}

std::optional<Growth> ContiguousAllocator::grow(SequenceId sequence, TokenCount,
                                                TokenCount length) {
  const Region& region = holder(sequence).region;
  RECTO_CHECK_LE(length, TokenCount(region.size));
  return Growth{.held_before = TokenCount(region.size), .held_after = TokenCount(region.size)};
}

Growth ContiguousAllocator::share(SequenceId parent, SequenceId child, TokenCount length) {
  RECTO_CHECK_GE(TokenCount(holder(parent).region.size), length);
  RECTO_CHECK_GE(TokenCount(holder(child).region.size), length);
  return {.copied = length, .copied_context = length};
}

Release ContiguousAllocator::release(SequenceId sequence, TokenCount) {
  Holder& out = holder(sequence);
  const Region region = out.region;
  if (region.size == 0) return {};
  placement_->free(region);
  out.region = Region();
  --region_count_;
  return {.held = TokenCount(region.size), .requested = reservation(*out.spec.request)};
}

TableShape ContiguousAllocator::shape(std::span<const SequenceId> members,
                                      TokenCount context) const {
  return {.slots = context * static_cast<std::int64_t>(members.size())};
}

bool ContiguousAllocator::restore(std::span<const SequenceId> members, const TableShape&,
                                  TokenCount) {
  if (!place_all(members)) return false;
  region_count_ += static_cast<std::int64_t>(members.size());
  return true;
}

PoolCounts ContiguousAllocator::counts() const {
  PoolCounts counts;
  counts.pool = options_.pool_slots;
  counts.free = TokenCount(placement_->free_slots());
  counts.held = counts.pool - counts.free;
  counts.largest_hole = TokenCount(placement_->largest_hole());
  counts.held_blocks = region_count_;
  return counts;
}

std::string ContiguousAllocator::describe() const {
  constexpr const char* kNames[] = {"contiguous-max", "contiguous-pow2", "contiguous-oracle"};
  return std::string(kNames[static_cast<int>(options_.rule)]) + ", " +
         placement_name(options_.placement);
}

}  // namespace recto::sim
