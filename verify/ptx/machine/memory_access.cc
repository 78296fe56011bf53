// Loads and stores: addresses, bounds, alignment, and the records of what was touched.

#include <algorithm>
#include <bit>
#include <cstring>

#include "verify/ptx/machine/thread_block.h"

namespace recto::ptx {
namespace {

constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kWindowShift) - 1;

struct Extent {
  std::uint64_t low = ~std::uint64_t{0};
  std::uint64_t high = 0;
  std::uint64_t bits = 0;  // of all addresses
};

Extent extent_of(const LaneAddresses& addresses, LaneMask lanes) {
  Extent extent;
  if (lanes == kAllLanes) {
    for (const std::uint64_t address : addresses) {
      extent.low = address < extent.low ? address : extent.low;
      extent.high = address > extent.high ? address : extent.high;
      extent.bits |= address;
    }
    return extent;
  }
  for_each_lane_of(lanes, [&](unsigned lane) {
    extent.low = std::min(extent.low, addresses[lane]);
    extent.high = std::max(extent.high, addresses[lane]);
    extent.bits |= addresses[lane];
  });
  return extent;
}

std::string bytes_text(std::uint32_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte of " : " bytes of ");
}

// If all lanes read one place, two of them stand for all.
LaneMask lanes_to_check(const ThreadBlock::Access& access, bool is_uniform) {
  if (!is_uniform || access.kind != AccessKind::kRead || std::popcount(access.lanes) < 3) {
    return access.lanes;
  }
  return LaneMask{1} << std::countr_zero(access.lanes) | std::bit_floor(access.lanes);
}

}  // namespace

// The last variable that begins at or before the address, or null.
const NamedPiece* ThreadBlock::shared_piece(std::uint64_t address) const {
  const auto after = std::upper_bound(
      shared_pieces_.begin(), shared_pieces_.end(), address,
      [](std::uint64_t wanted, const NamedPiece& piece) { return wanted < piece.begin; });
  return after == shared_pieces_.begin() ? nullptr : &*(after - 1);
}

void ThreadBlock::compute_addresses(const Warp& warp, const MemoryOperand& operand, LaneMask lanes,
                                    LaneAddresses& addresses) const {
  const auto offset = static_cast<std::uint64_t>(operand.offset);
  if (operand.address == kNoValue) {
    addresses.fill(offset);
  } else if (operand.address_width == 8) {
    const std::uint64_t* const base = row<std::uint64_t>(warp, operand.address);
    for (unsigned lane = 0; lane < kWarpSize; ++lane) addresses[lane] = base[lane] + offset;
  } else {
    const std::uint32_t* const base = row<std::uint32_t>(warp, operand.address);
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      addresses[lane] = base[lane] + static_cast<std::uint32_t>(offset);
    }
  }
  // Lanes that take no part must not decide anything.
  if (lanes == kAllLanes) return;
  const std::uint64_t any = addresses[static_cast<unsigned>(std::countr_zero(lanes))];
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    addresses[lane] = (lanes >> lane & 1) != 0 ? addresses[lane] : any;
  }
}

// Afterwards `pointers` has the lanes' memory on this machine.
bool ThreadBlock::access(Warp& warp, const MemoryOperand& operand, const Access& access,
                         LaneAddresses& pointers) {
  compute_addresses(warp, operand, access.lanes, pointers);
  if (operand.space != MemorySpace::kGeneric) {
    return access_space(warp, operand.space, access, pointers);
  }
  // Generic addresses: mostly those of one space.
  LaneMask left = access.lanes;
  while (left != 0) {
    const std::uint64_t window =
        pointers[static_cast<unsigned>(std::countr_zero(left))] >> kWindowShift;
    Access part = access;
    part.lanes = 0;
    for_each_lane_of(left, [&](unsigned lane) {
      if (pointers[lane] >> kWindowShift == window) part.lanes |= LaneMask{1} << lane;
    });
    constexpr MemorySpace kSpaces[] = {MemorySpace::kGlobal, MemorySpace::kShared,
                                       MemorySpace::kLocal, MemorySpace::kParam};
    const MemorySpace space = window < 4 ? kSpaces[window] : MemorySpace::kGlobal;
    LaneAddresses addresses = pointers;
    if (window != 0 && window < 4) {
      for (std::uint64_t& address : addresses) address &= kOffsetMask;
    }
    const std::uint64_t any = addresses[static_cast<unsigned>(std::countr_zero(part.lanes))];
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      if ((part.lanes >> lane & 1) == 0) addresses[lane] = any;
    }
    if (!access_space(warp, space, part, addresses)) return false;
    for_each_lane_of(part.lanes, [&](unsigned lane) { pointers[lane] = addresses[lane]; });
    left &= ~part.lanes;
  }
  return true;
}

bool ThreadBlock::access_space(Warp& warp, MemorySpace space, const Access& access,
                               LaneAddresses& pointers) {
  const Extent extent = extent_of(pointers, access.lanes);
  if ((extent.bits & (std::min<std::uint32_t>(access.bytes, 16) - 1)) != 0) {
    for_each_lane_of(access.lanes, [&](unsigned lane) {
      if ((pointers[lane] & (access.bytes - 1)) == 0 || is_abandoned_) return;
      const bool is_global = space == MemorySpace::kGlobal || space == MemorySpace::kConst;
      report(Check::kMisaligned, warp, lane, *access.step,
             access.verb + (" " + bytes_text(access.bytes)) +
                 (is_global ? run_.memory.text_of(pointers[lane]) : shared_text(pointers[lane])));
    });
    return false;
  }
  if (run_.options.counts) count_access(access, space, pointers);
  switch (space) {
    case MemorySpace::kShared:
      return access_shared(warp, access, pointers);
    case MemorySpace::kLocal:
    case MemorySpace::kParam:
      return access_private(warp, space, access, pointers);
    default:
      return access_global(warp, access, pointers);
  }
}

bool ThreadBlock::access_global(Warp& warp, const Access& access, LaneAddresses& pointers) {
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
      if (is_abandoned_) return;
      const Buffer* const found = run_.memory.find(pointers[lane]);
      if (found != nullptr && holds(*found, pointers[lane], pointers[lane])) {
        last = static_cast<std::uint32_t>(found - buffers.data());
        return;
      }
      const bool is_inside = found != nullptr && pointers[lane] + access.bytes <= found->end();
      report(is_inside ? Check::kReadOnly : Check::kOutOfBounds, warp, lane, *access.step,
             access.verb + (" " + bytes_text(access.bytes)) + run_.memory.text_of(pointers[lane]));
    });
    if (is_abandoned_) return false;
  }
  if (!stays_in_pieces(warp, access, pointers)) return false;
  if (!checker_) return true;
  GridChecker::Region* region = nullptr;
  checker_->begin_step(warp.number);
  const LaneMask lanes = lanes_to_check(access, extent.low == extent.high);
  for_each_lane_of(lanes, [&](unsigned lane) {
    const std::uint64_t address = pointers[lane];
    if (region == nullptr || address - region->begin >= region->bytes) {
      region = run_.checker->find(address);
    }
    if (region == nullptr) return;
    const Conflict conflict = checker_->touch_global(
        *region, address - region->begin, access.bytes,
        {access.kind, warp.number, lane, access.step->place, lanes != access.lanes});
    if (conflict.kind != Conflict::Kind::kNone) {
      report_conflict(warp, lane, access, conflict,
                      bytes_text(access.bytes) + run_.memory.text_of(address));
    }
  });
  return true;
}

bool ThreadBlock::access_shared(Warp& warp, const Access& access, LaneAddresses& pointers) {
  const Extent extent = extent_of(pointers, access.lanes);
  const bool is_inside = extent.low >= kSharedBegin && extent.high + access.bytes <= shared_end_ &&
                         extent.high < shared_end_;
  if (!is_inside || checker_) {
    if (checker_) checker_->begin_step(warp.number);
    const NamedPiece* piece = nullptr;
    const LaneMask lanes = lanes_to_check(access, extent.low == extent.high);
    for_each_lane_of(lanes, [&](unsigned lane) {
      if (is_abandoned_) return;
      const std::uint64_t address = pointers[lane];
      if (piece == nullptr || address - piece->begin >= piece->bytes) piece = shared_piece(address);
      // Gaps between variables belong to none.
      const bool is_known =
          piece != nullptr && address + access.bytes <= piece->begin + piece->bytes;
      if (!is_known) {
        report(Check::kOutOfBounds, warp, lane, *access.step,
               access.verb + (" " + bytes_text(access.bytes)) + shared_text(address));
        return;
      }
      if (!checker_) return;
      const Conflict conflict = checker_->touch_shared(
          address, access.bytes, {access.kind, warp.number, lane, access.step->place});
      if (conflict.kind != Conflict::Kind::kNone) {
        report_conflict(warp, lane, access, conflict,
                        bytes_text(access.bytes) + shared_text(address));
      }
    });
    if (is_abandoned_) return false;
  }
  const auto base = reinterpret_cast<std::uintptr_t>(shared_.data());
  for (std::uint64_t& pointer : pointers) pointer += base;
  return true;
}

// Local memory and the kernel's parameters.
bool ThreadBlock::access_private(Warp& warp, MemorySpace space, const Access& access,
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
      if (is_abandoned_ || (is_local && address >= begin && address + access.bytes <= end)) return;
      report(!is_local && is_write(access.kind) ? Check::kReadOnly : Check::kOutOfBounds, warp,
             lane, *access.step,
             access.verb + (" " + bytes_text(access.bytes)) +
                 (is_local ? "local memory" : "the parameters") + "+" + std::to_string(address) +
                 ", which has " + std::to_string(end) + " bytes");
    });
    return false;
  }
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const std::uint64_t thread = warp.number * kWarpSize + lane;
    pointers[lane] +=
        is_local ? reinterpret_cast<std::uintptr_t>(local_.data()) + thread * program_.local_bytes
                 : reinterpret_cast<std::uintptr_t>(run_.arguments.data());
  }
  return true;
}

// Most accesses are to one buffer or to shared memory, in bounds and aligned; if nobody records or
// counts them, that is all there is to see.
bool ThreadBlock::access_fast(Warp& warp, const MemoryOperand& operand, const Access& access,
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
