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
  std::vector<std::uint32_t> blocks;
  for (const std::uint64_t block : place.blocks) {
    blocks.push_back(static_cast<std::uint32_t>(block + 1));
  }
  const std::uint64_t threads = run_.shape.block.count();
  checker_->begin(blocks[place.rank],
                  static_cast<std::uint32_t>((threads + kWarpSize - 1) / kWarpSize), blocks);
}

void BlockMemory::compute_addresses(const Warp& warp, const MemoryOperand& operand, LaneMask lanes,
                                    LaneAddresses& addresses) const {
  const auto offset = static_cast<std::uint64_t>(operand.offset);
  if (operand.address == kNoValue) {
    addresses.fill(offset);
    return;
  }
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
  compute_addresses(warp, operand, access.lanes, pointers);
  if (operand.space != MemorySpace::kGeneric) {
    return access_space(warp, operand.space, access, pointers);
  }
  // Generic addresses: mostly those of one space.
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
  if ((extent_of(addresses, access.lanes).bits & mask) == 0) return true;
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
    count_access(access, space, pointers, run_.report_.counters);
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
  const Extent extent = extent_of(pointers, access.lanes);
  const bool stores = is_write(access.kind);
  const std::size_t step = static_cast<std::size_t>(access.step - program_.steps.data());
  const std::vector<Buffer>& buffers = run_.memory.buffers();
  std::uint32_t& last = run_.last_buffer[step];
  const auto holds = [&](const Buffer& buffer, std::uint64_t low, std::uint64_t high) {
    return low >= buffer.begin && high + access.bytes <= buffer.end() && high >= low &&
           !(stores && buffer.access == BufferAccess::kReadOnly);
  };
  if (last >= buffers.size() || !holds(buffers[last], extent.low, extent.high)) {
    // Lanes in several buffers, a buffer that is new to the step, or an error.
    for_each_lane_of(access.lanes, [&](unsigned lane) {
      if (reporter_.has_abandoned()) return;
      const Buffer* const found = run_.memory.find(pointers[lane]);
      if (found != nullptr && holds(*found, pointers[lane], pointers[lane])) {
        last = static_cast<std::uint32_t>(found - buffers.data());
        return;
      }
      const bool is_inside = found != nullptr && pointers[lane] + access.bytes <= found->end();
      reporter_.abandon(is_inside ? Check::kReadOnly : Check::kOutOfBounds, warp.thread(lane),
                        *access.step, what_of(access) + run_.memory.text_of(pointers[lane]));
    });
    if (reporter_.has_abandoned()) return false;
  }
  if (!stays_in_pieces(warp, access, pointers)) return false;
  if (!checker_) return true;
  GridChecker::Region* region = nullptr;
  checker_->begin_step(warp.number);
  const LaneMask lanes = lanes_to_check(access, extent);
  for_each_lane_of(lanes, [&](unsigned lane) {
    const std::uint64_t address = pointers[lane];
    if (region == nullptr || address - region->begin >= region->bytes) {
      region = run_.checker->find(address);
    }
    if (region == nullptr) return;
    const Conflict conflict =
        checker_->touch_global(*region, address - region->begin, access.bytes,
                               {access.kind, warp.number, lane, access.step->place,
                                lanes != access.lanes, access.operation});
    if (conflict.kind == Conflict::Kind::kNone) return;
    reporter_.report_conflict(
        warp.thread(lane), access, conflict,
        std::to_string(access.bytes) + " bytes of " + run_.memory.text_of(address));
  });
  return true;
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
  const Extent extent = extent_of(pointers, access.lanes);
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

bool BlockMemory::access_fast(const Warp& warp, const MemoryOperand& operand, const Access& access,
                              LaneAddresses& pointers, AddressSummary* summary) {
  if (run_.options.counts || operand.address == kNoValue) return false;
  AddressRange range{
      operand.address_width, static_cast<std::uint64_t>(operand.offset), 0, 0, access.bytes,
      access.bytes - 1};
  const bool is_shared = operand.space == MemorySpace::kShared;
  if (is_shared) {
    if (checker_) return false;
    range.begin = kSharedBegin;
    range.last = std::uint64_t{shared_end_} - kSharedBegin - access.bytes;
  } else {
    if (operand.space != MemorySpace::kGlobal && operand.space != MemorySpace::kGeneric) {
      return false;
    }
    const auto step = static_cast<std::size_t>(access.step - program_.steps.data());
    const std::uint32_t last = run_.last_buffer[step];
    if (last >= run_.memory.buffers().size()) return false;
    const Buffer& buffer = run_.memory.buffers()[last];
    if (buffer.logical_bounds != nullptr) return false;
    const bool is_read_only = buffer.access == BufferAccess::kReadOnly;
    if (is_read_only ? is_write(access.kind) : checker_.has_value()) return false;
    range.begin = buffer.begin;
    range.last = buffer.bytes - access.bytes;
  }
  *summary = tables_.sum_up_addresses(warp.registers + operand.address, range, access.lanes,
                                      pointers.data());
  if (!summary->is_inside || !summary->is_aligned) return false;
  if (is_shared) {
    const auto base = reinterpret_cast<std::uintptr_t>(shared_.data());
    for (std::uint64_t& pointer : pointers) pointer += base;
  }
  return true;
}

}  // namespace recto::ptx
