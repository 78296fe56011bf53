// cp.async: copies from global to shared memory that end when their thread waits for them. In half
// of the schedules their bytes arrive at once, in the others as late as possible.

#include <algorithm>
#include <cstring>

#include "verify/ptx/machine/thread_block.h"

namespace recto::ptx {

bool ThreadBlock::begin_copies(Warp& warp, const Step& step, LaneMask lanes) {
  const Detail& detail = program_.details[step.detail];
  const auto bytes = static_cast<std::uint32_t>(detail.count);
  LaneAddresses to;
  LaneAddresses from;
  LaneAddresses offsets;
  std::array<std::uint32_t, kWarpSize> sizes;
  sizes.fill(bytes);
  if (!detail.uses.empty()) {
    std::copy_n(row<std::uint32_t>(warp, detail.uses[0]), kWarpSize, sizes.begin());
    for (std::uint32_t& size : sizes) size = std::min(size, bytes);
  }
  compute_addresses(warp, detail.memory, lanes, offsets);
  if (!access(warp, detail.memory, {&step, lanes, bytes, AccessKind::kCopyWrite, "copies to"},
              to)) {
    return false;
  }
  // Nothing of the source is read beyond its size.
  from.fill(0);
  LaneMask whole = 0;
  LaneMask partial = 0;
  for_each_lane_of(lanes, [&](unsigned lane) {
    if (sizes[lane] == 0) return;
    (sizes[lane] == bytes ? whole : partial) |= LaneMask{1} << lane;
  });
  LaneAddresses part;
  if (whole != 0) {
    if (!access(warp, detail.source, {&step, whole, bytes, AccessKind::kRead, "copies"}, part)) {
      return false;
    }
    for_each_lane_of(whole, [&](unsigned lane) { from[lane] = part[lane]; });
  }
  for_each_lane_of(partial, [&](unsigned lane) {
    if (!read_part(warp, step, LaneMask{1} << lane, sizes[lane])) return;
    compute_addresses(warp, detail.source, LaneMask{1} << lane, part);
    from[lane] = part[lane];
  });
  if (is_abandoned_) return false;
  const bool is_late = checker_ && (run_.options.schedule.seed & 1) != 0;
  warp.has_copies |= checker_.has_value();
  for_each_lane_of(lanes, [&](unsigned lane) {
    if (!is_late) {
      auto* const d = reinterpret_cast<std::byte*>(to[lane]);
      std::memcpy(d, reinterpret_cast<const std::byte*>(from[lane]), sizes[lane]);
      std::memset(d + sizes[lane], 0, bytes - sizes[lane]);
    }
    if (!checker_) return;
    LaneCopies& copies = warp.copies[lane];
    copies.pending.push_back(
        {static_cast<std::uint32_t>(offsets[lane]), from[lane], static_cast<std::uint8_t>(bytes),
         static_cast<std::uint8_t>(sizes[lane]), copies.committed, step.place, is_late});
  });
  return true;
}

// The source of a copy that is shorter than its destination, byte by byte.
bool ThreadBlock::read_part(Warp& warp, const Step& step, LaneMask lane, std::uint32_t bytes) {
  LaneAddresses addresses;
  compute_addresses(warp, program_.details[step.detail].source, lane, addresses);
  for (std::uint32_t i = 0; i < bytes && !is_abandoned_; ++i) {
    access_global(warp, {&step, lane, 1, AccessKind::kRead, "copies"}, addresses);
    for (std::uint64_t& address : addresses) ++address;
  }
  return !is_abandoned_;
}

// wait_group N leaves the last N committed groups; wait_all leaves none, committed or not.
void ThreadBlock::finish_copies(Warp& warp, const Step& step, LaneMask lanes) {
  if (!warp.has_copies) return;
  const Detail& detail = program_.details[step.detail];
  const bool is_all = !detail.is_aligned;
  checker_->begin_step(warp.number);
  for_each_lane_of(lanes, [&](unsigned lane) {
    LaneCopies& copies = warp.copies[lane];
    const std::uint64_t done =
        copies.committed > detail.count ? copies.committed - detail.count : 0;
    std::erase_if(copies.pending, [&](const PendingCopy& copy) {
      if (!is_all && copy.group >= done) return false;
      if (copy.is_late) {
        std::byte* const d = shared_.data() + copy.destination;
        std::memcpy(d, reinterpret_cast<const std::byte*>(copy.source), copy.source_bytes);
        std::memset(d + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
      }
      checker_->finish_copy(copy.destination, copy.bytes,
                            {AccessKind::kWrite, warp.number, lane, copy.place});
      return true;
    });
  });
}

}  // namespace recto::ptx
