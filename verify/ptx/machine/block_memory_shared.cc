// Shared memory, of the own and of other thread blocks.

#include <algorithm>
#include <bit>

#include "verify/ptx/machine/access_lanes.h"
#include "verify/ptx/machine/block_memory.h"

namespace recto::ptx {

BlockMemory* BlockMemory::owner_of(MemorySpace space, std::uint64_t address) {
  const std::uint64_t rank = address >> kRankShift;
  if (rank == 0 || rank == place_.rank + 1) return this;
  return space == MemorySpace::kShared || rank > 255
             ? nullptr
             : of_rank(static_cast<std::uint32_t>(rank - 1));
}

bool BlockMemory::access_shared(const Warp& warp, MemorySpace space, const Access& access,
                                LaneAddresses& pointers) {
  for (LaneMask left = access.lanes; left != 0;) {
    const auto first = static_cast<unsigned>(std::countr_zero(left));
    const std::uint64_t rank = pointers[first] >> kRankShift;
    Access part = access;
    part.lanes = 0;
    for_each_lane_of(left, [&](unsigned lane) {
      if (pointers[lane] >> kRankShift == rank) part.lanes |= LaneMask{1} << lane;
    });
    BlockMemory* const owner = owner_of(space, pointers[first]);
    if (owner == nullptr || owner->has_ended_) {
      reporter_.abandon(Check::kOutOfBounds, warp.thread(first), *access.step,
                        what_of(access) +
                            (owner != nullptr ? "a thread block that has exited"
                             : space == MemorySpace::kShared
                                 ? "another thread block, in an instruction for its own memory"
                                 : "no thread block of its cluster") +
                            ", rank " + std::to_string(rank - 1));
      return false;
    }
    LaneAddresses here = pointers;
    const std::uint64_t origin = owner->shared_origin();
    for (std::uint64_t& pointer : here) pointer = origin + (pointer & ~std::uint64_t{kRankMask});
    fill_others(part.lanes, here);
    if (!touch(warp, *owner, part, here)) return false;
    for_each_lane_of(part.lanes, [&](unsigned lane) { pointers[lane] = here[lane]; });
    left &= ~part.lanes;
  }
  fill_others(access.lanes, pointers);
  return true;
}

// Accesses to one thread block's shared memory, by addresses on this machine.
bool BlockMemory::touch(const Warp& warp, BlockMemory& owner, const Access& access,
                        const LaneAddresses& pointers) {
  const std::uint64_t origin = owner.shared_origin();
  const AddressExtent extent = tables_.extent_of(pointers.data());
  const std::uint64_t low = extent.low - origin;
  const std::uint64_t end = extent.high - origin + access.bytes;
  const bool is_inside = low >= kSharedBegin && end <= owner.shared_end_;
  if (is_inside && !checker_) return true;
  const NamedPiece* const piece = shared_piece(low);
  const bool is_in_one_piece = is_inside && piece != nullptr &&
                               end <= piece->begin + piece->bytes &&
                               !owner.mbarriers_.is_within(low, end);
  if (!is_in_one_piece && !is_declared(warp, owner, access, pointers)) return false;
  if (!checker_) return true;
  checker_->begin_step(warp.number);
  const BlockChecker::LaneRanges ranges{pointers.data(), origin, access.bytes,
                                        lanes_to_check(access, extent, pointers)};
  for (const auto& [lane, conflict] :
       checker_->touch(owner.shadow_, ranges, access_of(warp, access))) {
    reporter_.report_conflict(
        warp.thread(lane), access, conflict,
        std::to_string(access.bytes) + " bytes of " + shared_text(pointers[lane] - origin));
  }
  return true;
}

// Each lane touches one variable, and no mbarrier. Gaps between variables belong to none.
bool BlockMemory::is_declared(const Warp& warp, BlockMemory& owner, const Access& access,
                              const LaneAddresses& pointers) {
  for_each_lane_of(access.lanes, [&](unsigned lane) {
    if (reporter_.has_abandoned()) return;
    const std::uint64_t begin = pointers[lane] - owner.shared_origin();
    const std::uint64_t end = begin + access.bytes;
    const NamedPiece* const piece = shared_piece(begin);
    if (piece == nullptr || end > piece->begin + piece->bytes) {
      reporter_.abandon(Check::kOutOfBounds, warp.thread(lane), *access.step,
                        what_of(access) + shared_text(begin));
    } else if (!is_atomic(access.kind) && owner.mbarriers_.is_within(begin, end)) {
      reporter_.abandon(Check::kMbarrier, warp.thread(lane), *access.step,
                        what_of(access) + shared_text(begin) +
                            ", where there is an mbarrier that was not invalidated");
    }
  });
  return !reporter_.has_abandoned();
}

std::optional<BlockMemory::SharedPlace> BlockMemory::shared_place(const Warp& warp,
                                                                  const MemoryOperand& operand,
                                                                  unsigned lane) {
  LaneAddresses addresses;
  compute_addresses(warp, operand, LaneMask{1} << lane, addresses);
  std::uint64_t address = addresses[lane];
  MemorySpace space = operand.space;
  if (space == MemorySpace::kGeneric) {
    if (address >> kWindowShift != kSharedWindow >> kWindowShift) return std::nullopt;
    address &= kSharedWindow - 1;
    space = MemorySpace::kSharedCluster;
  }
  BlockMemory* const owner = owner_of(space, address);
  if (owner == nullptr) return std::nullopt;
  return SharedPlace{owner, owner->place_.rank,
                     static_cast<std::uint32_t>(address & ~std::uint64_t{kRankMask})};
}

// The last variable that begins at or before the address, or null.
const NamedPiece* BlockMemory::shared_piece(std::uint64_t address) const {
  const auto after = std::upper_bound(
      shared_pieces_.begin(), shared_pieces_.end(), address,
      [](std::uint64_t wanted, const NamedPiece& piece) { return wanted < piece.begin; });
  return after == shared_pieces_.begin() ? nullptr : &*(after - 1);
}

std::string BlockMemory::shared_text(std::uint64_t address) const {
  if (address == 0) return "null";
  const NamedPiece* const nearest = shared_piece(address);
  if (nearest == nullptr) {
    return "shared memory at " + std::to_string(address) + ", before all variables";
  }
  const std::uint64_t offset = address - nearest->begin;
  if (offset < nearest->bytes) return nearest->name + "+" + std::to_string(offset);
  return "shared memory " + std::to_string(offset - nearest->bytes) + " bytes past the end of " +
         nearest->name + " (" + std::to_string(nearest->bytes) + " bytes)";
}

}  // namespace recto::ptx
