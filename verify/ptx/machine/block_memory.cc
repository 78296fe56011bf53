#include "verify/ptx/machine/block_memory.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "verify/ptx/machine/access_counts.h"
#include "verify/ptx/machine/access_lanes.h"

namespace recto::ptx {
namespace {

constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kWindowShift) - 1;
constexpr std::byte kNan{0xff};  // each byte of one, in every type

}  // namespace

BlockMemory::BlockMemory(LaunchRun& run, Reporter& reporter)
    : run_(run), program_(run.program), reporter_(reporter), shadow_(0) {
  shared_pieces_ = program_.shared;
  shared_end_ = program_.has_dynamic_shared ? program_.dynamic_shared_begin : program_.shared_bytes;
  shared_end_ += static_cast<std::uint32_t>(run.shape.dynamic_shared_bytes);
  if (program_.has_dynamic_shared) {
    shared_pieces_.back().bytes = run.shape.dynamic_shared_bytes;
  }
  shared_.resize(shared_end_ + 16);
  local_.resize(static_cast<std::size_t>(program_.local_bytes) * run.shape.block.count());
  if (!run.options.checks.records_accesses()) return;
  checker_.emplace(
      BlockChecker::Options{run.options.checks.races, run.options.checks.uninitialised_memory},
      *run.checker);
  shadow_ = ShadowMemory(shared_end_);
}

void BlockMemory::begin(const ClusterPlace& place) {
  place_ = place;
  has_ended_ = false;
  mbarriers_.begin();
  if (!checker_) return;
  const bool is_poisoned = !run_.options.checks.uninitialised_memory;
  if (is_poisoned) std::fill(shared_.begin(), shared_.end(), kNan);
  shadow_.forget();
  checker_->begin(static_cast<std::uint32_t>(place.blocks[place.rank] + 1),
                  run_.shape.block.count());
}

void BlockMemory::compute_addresses(const Warp& warp, const MemoryOperand& operand, LaneMask lanes,
                                    LaneAddresses& addresses) const {
  const auto offset = static_cast<std::uint64_t>(operand.offset);
  if (operand.address_width == 8) {
    const std::uint64_t* const base = warp.row<std::uint64_t>(operand.address);
    for (unsigned lane = 0; lane < kWarpSize; ++lane) addresses[lane] = base[lane] + offset;
  } else {
    const std::uint32_t* const base = warp.row<std::uint32_t>(operand.address);
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      addresses[lane] = base[lane] + static_cast<std::uint32_t>(offset);
    }
  }
  fill_others(lanes, addresses);
}

bool BlockMemory::access(const Warp& warp, const MemoryOperand& operand, const Access& access,
                         LaneAddresses& pointers) {
  if (access_usual(warp, operand, access, pointers)) return !reporter_.has_abandoned();
  compute_addresses(warp, operand, access.lanes, pointers);
  const bool is_right = operand.space == MemorySpace::kGeneric
                            ? access_generic(warp, access, pointers)
                            : access_space(warp, operand.space, access, pointers);
  if (!is_right) return false;
  fill_others(access.lanes, pointers);
  learn_place(operand, access, pointers);
  return true;
}

// Mostly, lanes have addresses of one space.
bool BlockMemory::access_generic(const Warp& warp, const Access& access, LaneAddresses& pointers) {
  constexpr MemorySpace kSpaces[] = {MemorySpace::kGlobal, MemorySpace::kSharedCluster,
                                     MemorySpace::kLocal, MemorySpace::kParam};
  for (LaneMask left = access.lanes; left != 0;) {
    const auto window = pointers[static_cast<unsigned>(std::countr_zero(left))] >> kWindowShift;
    Access part = access;
    part.lanes = 0;
    for_each_lane_of(left, [&](unsigned lane) {
      if (pointers[lane] >> kWindowShift == window) part.lanes |= LaneMask{1} << lane;
    });
    const MemorySpace space = window < std::size(kSpaces) ? kSpaces[window] : MemorySpace::kGlobal;
    LaneAddresses addresses = pointers;
    if (space != MemorySpace::kGlobal) {
      for (std::uint64_t& address : addresses) address &= kOffsetMask;
    }
    fill_others(part.lanes, addresses);
    if (!access_space(warp, space, part, addresses)) return false;
    for_each_lane_of(part.lanes, [&](unsigned lane) { pointers[lane] = addresses[lane]; });
    left &= ~part.lanes;
  }
  return true;
}

bool BlockMemory::is_aligned(const Warp& warp, MemorySpace space, const Access& access,
                             const LaneAddresses& addresses) {
  const std::uint64_t mask = std::min<std::uint32_t>(access.bytes, 16) - 1;
  if ((tables_.extent_of(addresses.data()).bits & mask) == 0) return true;
  for_each_lane_of(access.lanes, [&](unsigned lane) {
    if ((addresses[lane] & mask) == 0 || reporter_.has_abandoned()) return;
    const bool is_global = space == MemorySpace::kGlobal || space == MemorySpace::kConst;
    reporter_.abandon(Check::kMisaligned, warp.thread(lane), *access.step,
                      what_of(access) + (is_global ? run_.memory.text_of(addresses[lane])
                                                   : shared_text(addresses[lane])));
  });
  return false;
}

bool BlockMemory::access_space(const Warp& warp, MemorySpace space, const Access& access,
                               LaneAddresses& pointers) {
  if (!is_aligned(warp, space, access, pointers)) return false;
  if (run_.options.counts) {
    count_access(access, space, pointers, run_.outcome.counters);
  }
  switch (space) {
    case MemorySpace::kShared:
    case MemorySpace::kSharedCluster:
      return access_shared(warp, space, access, pointers);
    case MemorySpace::kLocal:
    case MemorySpace::kParam:
      return access_private(warp, space, access, pointers);
    default:
      return access_global(warp, access, pointers);
  }
}

bool BlockMemory::access_global(const Warp& warp, const Access& access, LaneAddresses& pointers) {
  const bool stores = is_write(access.kind);
  const auto holds = [&](const Buffer* buffer, std::uint64_t low, std::uint64_t high) {
    return buffer != nullptr && low >= buffer->begin && high < buffer->end() &&
           access.bytes <= buffer->end() - high &&
           !(stores && buffer->access == BufferAccess::kReadOnly);
  };
  const AddressExtent extent = tables_.extent_of(pointers.data());
  if (!holds(run_.memory.find(extent.low), extent.low, extent.high)) {
    // Lanes in several buffers, or an error.
    for_each_lane_of(access.lanes, [&](unsigned lane) {
      if (reporter_.has_abandoned()) return;
      const Buffer* const found = run_.memory.find(pointers[lane]);
      if (holds(found, pointers[lane], pointers[lane])) return;
      const bool is_inside = found != nullptr && pointers[lane] + access.bytes <= found->end();
      reporter_.abandon(is_inside ? Check::kReadOnly : Check::kOutOfBounds, warp.thread(lane),
                        *access.step, what_of(access) + run_.memory.text_of(pointers[lane]));
    });
    if (reporter_.has_abandoned()) return false;
  }
  if (!stays_in_pieces(warp, access, pointers)) return false;
  if (checker_) record_global(warp, access, pointers);
  return true;
}

void BlockMemory::record_global(const Warp& warp, const Access& access,
                                const LaneAddresses& addresses) {
  checker_->begin_step(warp.number);
  const AddressExtent extent = tables_.extent_of(addresses.data());
  for (LaneMask left = lanes_to_check(access, extent, addresses); left != 0;) {
    const LaneMask first = left & -left;
    GridChecker::Region* const region =
        run_.checker->find(addresses[static_cast<unsigned>(std::countr_zero(first))]);
    LaneMask here = first;
    for_each_lane_of(region != nullptr ? left : 0, [&](unsigned lane) {
      if (addresses[lane] - region->begin < region->bytes) here |= LaneMask{1} << lane;
    });
    left &= ~here;
    if (region == nullptr) continue;
    const BlockChecker::LaneRanges ranges{addresses.data(), region->begin, access.bytes, here};
    for (const auto& [lane, conflict] :
         checker_->touch(*region->shadow, ranges, access_of(warp, access))) {
      reporter_.report_conflict(
          warp.thread(lane), access, conflict,
          std::to_string(access.bytes) + " bytes of " + run_.memory.text_of(addresses[lane]));
    }
  }
}

// Buffers whose pieces belong to owners: a wrong block id leads to memory that is in bounds.
bool BlockMemory::stays_in_pieces(const Warp& warp, const Access& access,
                                  const LaneAddresses& pointers) {
  const std::uint64_t block = place_.blocks[place_.rank];
  const Buffer* buffer = nullptr;
  for_each_lane_of(access.lanes, [&](unsigned lane) {
    const std::uint64_t address = pointers[lane];
    if (buffer == nullptr || address - buffer->begin >= buffer->bytes) {
      buffer = run_.memory.find(address);
    }
    if (reporter_.has_abandoned() || buffer == nullptr || !buffer->logical_bounds) return;
    const simt::LogicalBounds& bounds = *buffer->logical_bounds;
    const std::size_t last = (address - buffer->begin + access.bytes - 1) / bounds.piece_bytes;
    for (std::size_t i = (address - buffer->begin) / bounds.piece_bytes; i <= last; ++i) {
      if (bounds.allows(block, i)) continue;
      const bool is_owned = block < bounds.owner_of_block.size();
      reporter_.abandon(Check::kLogicalBounds, warp.thread(lane), *access.step,
                        what_of(access) + run_.memory.text_of(address) + ", in piece " +
                            std::to_string(i) + " (of " + std::to_string(bounds.piece_bytes) +
                            " bytes), outside the pieces of " +
                            (is_owned ? "owner " + std::to_string(bounds.owner_of_block[block])
                                      : std::string("its thread block")) +
                            ": it belongs to " + bounds.owners_text(i));
      return;
    }
  });
  return !reporter_.has_abandoned();
}

// Local memory and the kernel's parameters.
bool BlockMemory::access_private(const Warp& warp, MemorySpace space, const Access& access,
                                 LaneAddresses& pointers) {
  const bool is_local = space == MemorySpace::kLocal;
  const std::uint64_t begin = is_local ? kLocalBegin : 0;
  const std::uint64_t end = is_local ? program_.local_bytes : program_.parameter_bytes;
  const AddressExtent extent = tables_.extent_of(pointers.data());
  const bool is_wrong = extent.low < begin || extent.high >= end ||
                        extent.high + access.bytes > end || (!is_local && is_write(access.kind));
  if (is_wrong) {
    for_each_lane_of(access.lanes, [&](unsigned lane) {
      const std::uint64_t address = pointers[lane];
      if (reporter_.has_abandoned()) return;
      if (is_local && address >= begin && address + access.bytes <= end) return;
      reporter_.abandon(!is_local && is_write(access.kind) ? Check::kReadOnly : Check::kOutOfBounds,
                        warp.thread(lane), *access.step,
                        what_of(access) + (is_local ? "local memory" : "the parameters") + "+" +
                            std::to_string(address) + ", which has " + std::to_string(end) +
                            " bytes");
    });
    return false;
  }
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    pointers[lane] += reinterpret_cast<std::uintptr_t>(is_local ? local(warp.thread(lane))
                                                                : run_.arguments.data());
  }
  return true;
}

// After an access that was right.
void BlockMemory::learn_place(const MemoryOperand& operand, const Access& access,
                              const LaneAddresses& pointers) {
  if (run_.options.counts) return;
  UsualPlace place{{operand.address_width, static_cast<std::uint64_t>(operand.offset)},
                   access.bytes,
                   operand.space == MemorySpace::kShared,
                   checker_.has_value()};
  AddressRange& range = place.range;
  range.alignment_mask = std::min<std::uint32_t>(access.bytes, 16) - 1;
  if (place.is_shared) {
    range.begin = kSharedBegin;
    range.last = std::uint64_t{shared_end_} - kSharedBegin - access.bytes;
  } else if (operand.space == MemorySpace::kGlobal || operand.space == MemorySpace::kGeneric) {
    const Buffer* const buffer = run_.memory.find(pointers[0]);
    if (buffer == nullptr || buffer->logical_bounds != nullptr) return;
    range.begin = buffer->begin;
    range.last = buffer->bytes - access.bytes;
    place.is_recorded &= buffer->access != BufferAccess::kReadOnly;
  } else {
    return;
  }
  run_.usual_places[operand.site] = place;
}

bool BlockMemory::access_usual(const Warp& warp, const MemoryOperand& operand, const Access& access,
                               LaneAddresses& pointers) {
  const UsualPlace& place = run_.usual_places[operand.site];
  if (place.bytes != access.bytes ||
      !tables_.resolve_addresses(warp.registers + operand.address, place.range, origin_of(place),
                                 access.lanes, pointers.data())) {
    return false;
  }
  if (place.is_recorded && place.is_shared) {
    touch(warp, *this, access, pointers);
  } else if (place.is_recorded) {
    record_global(warp, access, pointers);
  }
  return true;
}

bool BlockMemory::load_usual(const Warp& warp, const MemoryOperand& operand, const Access& access,
                             const LoadShape& shape) const {
  const UsualPlace& place = run_.usual_places[operand.site];
  return place.bytes == access.bytes && !place.is_recorded &&
         tables_.load(warp.registers, operand.address, place.range, origin_of(place), shape);
}

}  // namespace recto::ptx
