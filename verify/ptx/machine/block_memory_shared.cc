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
    LaneAddresses offsets = pointers;
    for (std::uint64_t& offset : offsets) offset &= ~std::uint64_t{kRankMask};
    fill_others(part.lanes, offsets);
    if (!touch(warp, *owner, part, offsets)) return false;
    const auto base = reinterpret_cast<std::uintptr_t>(owner->shared_.data());
    if (part.lanes == access.lanes) {
      for (unsigned lane = 0; lane < kWarpSize; ++lane) pointers[lane] = base + offsets[lane];
      return true;
    }
    for_each_lane_of(part.lanes, [&](unsigned lane) { pointers[lane] = base + offsets[lane]; });
    left &= ~part.lanes;
  }
  return true;
}

// Of one thread block's shared memory.
bool BlockMemory::touch(const Warp& warp, BlockMemory& owner, const Access& access,
                        const LaneAddresses& offsets) {
  const Extent extent = extent_of(offsets, access.lanes);
  const bool is_inside = extent.low >= kSharedBegin &&
                         extent.high + access.bytes <= owner.shared_end_ &&
                         extent.high < owner.shared_end_;
  if (is_inside && !checker_) return true;
  if (checker_) checker_->begin_step(warp.number);
  const NamedPiece* piece = nullptr;
  const LaneMask lanes = lanes_to_check(access, extent);
  for_each_lane_of(lanes, [&](unsigned lane) {
    if (reporter_.has_abandoned()) return;
    const std::uint64_t address = offsets[lane];
    if (piece == nullptr || address - piece->begin >= piece->bytes) piece = shared_piece(address);
    // Gaps between variables belong to none.
    if (piece == nullptr || address + access.bytes > piece->begin + piece->bytes) {
      reporter_.abandon(Check::kOutOfBounds, warp.thread(lane), *access.step,
                        what_of(access) + shared_text(address));
      return;
    }
    if (!checker_) return;
    if (!is_atomic(access.kind) && owner.mbarriers_.is_within(address, address + access.bytes)) {
      reporter_.abandon(Check::kMbarrier, warp.thread(lane), *access.step,
                        what_of(access) + shared_text(address) +
                            ", where there is an mbarrier that was not invalidated");
      return;
    }
    const Conflict conflict = checker_->touch_shared(
        owner.shadow_, address, access.bytes,
        {access.kind, warp.number, lane, access.step->place, false, access.operation});
    if (conflict.kind == Conflict::Kind::kNone) return;
    reporter_.report_conflict(warp.thread(lane), access, conflict,
                              std::to_string(access.bytes) + " bytes of " + shared_text(address));
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
