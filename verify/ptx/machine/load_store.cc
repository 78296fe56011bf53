// ld and st.

#include <cstring>

#include "verify/ptx/machine/thread_block.h"

namespace recto::ptx {
namespace {

// Element `offset` of each lane's memory, extended to the register.
template <typename Memory, typename Register>
void load_rows(const LaneAddresses& pointers, LaneMask lanes, std::size_t offset, Register* d) {
  const auto load = [&](unsigned lane) {
    Memory value;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(pointers[lane]) + offset, sizeof(value));
    return static_cast<Register>(value);
  };
  if (lanes == kAllLanes) {
    for (unsigned lane = 0; lane < kWarpSize; ++lane) d[lane] = load(lane);
  } else {
    for_each_lane_of(lanes, [&](unsigned lane) { d[lane] = load(lane); });
  }
}

template <typename Register>
void load_element(const Detail& detail, const LaneAddresses& pointers, LaneMask lanes,
                  std::size_t offset, Register* d) {
  const bool extends_sign = detail.is_signed && detail.element_bytes < sizeof(Register);
  switch (detail.element_bytes) {
    case 1:
      return extends_sign ? load_rows<std::int8_t>(pointers, lanes, offset, d)
                          : load_rows<std::uint8_t>(pointers, lanes, offset, d);
    case 2:
      return extends_sign ? load_rows<std::int16_t>(pointers, lanes, offset, d)
                          : load_rows<std::uint16_t>(pointers, lanes, offset, d);
    case 4:
      return extends_sign ? load_rows<std::int32_t>(pointers, lanes, offset, d)
                          : load_rows<std::uint32_t>(pointers, lanes, offset, d);
    default:
      return load_rows<std::uint64_t>(pointers, lanes, offset, d);
  }
}

}  // namespace

bool ThreadBlock::load(Warp& warp, const Step& step, LaneMask lanes) {
  const Detail& detail = program_.details[step.detail];
  const std::size_t count = detail.defs.size();
  LaneAddresses pointers;
  const Access what{
      &step, lanes, static_cast<std::uint32_t>(detail.element_bytes * count),
      detail.ordering == Ordering::kWeak ? AccessKind::kRead : AccessKind::kAtomicRead, "reads"};
  AddressSummary summary;
  if (access_fast(warp, detail.memory, what, pointers, &summary)) {
    const LoadShape shape{detail.width, static_cast<std::uint8_t>(count), detail.defs.data()};
    const bool is_plain =
        lanes == warp.live && detail.width == detail.element_bytes && !step.is_tracked;
    if (is_plain && tables_.load_all_lanes(warp.registers, pointers.data(), summary, shape)) {
      return true;
    }
  } else if (!access(warp, detail.memory, what, pointers)) {
    return false;
  }
  pass_ordering(warp, detail, lanes);
  for (std::size_t i = 0; i < count; ++i) {
    const ValuePlace place = detail.defs[i];
    const std::size_t offset = i * detail.element_bytes;
    if (detail.width == 4) {
      load_element(detail, pointers, lanes, offset, row<std::uint32_t>(warp, place));
    } else if (detail.width == 2) {
      load_element(detail, pointers, lanes, offset, row<std::uint16_t>(warp, place));
    } else {
      load_element(detail, pointers, lanes, offset, row<std::uint64_t>(warp, place));
    }
  }
  if (step.is_tracked) pass_undefined(warp, step, lanes);
  return true;
}

bool ThreadBlock::store(Warp& warp, const Step& step, LaneMask lanes) {
  const Detail& detail = program_.details[step.detail];
  const std::size_t count = detail.uses.size();
  LaneAddresses pointers;
  const Access what{&step, lanes, static_cast<std::uint32_t>(detail.element_bytes * count),
                    detail.ordering == Ordering::kWeak ? AccessKind::kWrite : AccessKind::kAtomic,
                    "writes"};
  AddressSummary summary;
  if (!access_fast(warp, detail.memory, what, pointers, &summary) &&
      !access(warp, detail.memory, what, pointers)) {
    return false;
  }
  pass_ordering(warp, detail, lanes);
  const std::size_t bytes = detail.element_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::byte* const data = warp.registers + detail.uses[i];
    const std::size_t width = detail.width;
    for_each_lane_of(lanes, [&](unsigned lane) {
      auto* const to = reinterpret_cast<std::byte*>(pointers[lane]) + i * bytes;
      const std::byte* const from = data + lane * width;
      switch (bytes) {
        case 1:
          std::memcpy(to, from, 1);
          break;
        case 2:
          std::memcpy(to, from, 2);
          break;
        case 4:
          std::memcpy(to, from, 4);
          break;
        default:
          std::memcpy(to, from, 8);
      }
    });
  }
  if (run_.options.checks.races && detail.ordering == Ordering::kWeak)
    check_lanes_agree(warp, step, lanes, pointers);
  return true;
}

// What loads and stores with an ordering tell other threads.
void ThreadBlock::pass_ordering(const Warp& warp, const Detail& detail, LaneMask lanes) {
  if (!checker_ || detail.ordering == Ordering::kWeak) return;
  LaneAddresses addresses;
  compute_addresses(warp, detail.memory, lanes, addresses);
  const bool is_both = detail.ordering == Ordering::kAcquireRelease;
  for_each_lane_of(lanes, [&](unsigned lane) {
    checker_->pass_atomic(*run_.checker,
                          {.warp = warp.number,
                           .lane = lane,
                           .address = addresses[lane],
                           .releases = is_both || detail.ordering == Ordering::kRelease,
                           .acquires = is_both || detail.ordering == Ordering::kAcquire});
  });
}

// Lanes of one step that store different values in one place: which of them stays is not defined.
void ThreadBlock::check_lanes_agree(const Warp& warp, const Step& step, LaneMask lanes,
                                    const LaneAddresses& pointers) {
  const Detail& detail = program_.details[step.detail];
  for_each_lane_of(lanes, [&](unsigned lane) {
    if (is_abandoned_) return;
    for (std::size_t i = 0; i < detail.uses.size(); ++i) {
      const std::byte* const own = warp.registers + detail.uses[i] + lane * detail.width;
      const auto* const held =
          reinterpret_cast<const std::byte*>(pointers[lane]) + i * detail.element_bytes;
      if (std::memcmp(own, held, detail.element_bytes) == 0) continue;
      Finding found = finding(Check::kRace, warp, lane, step,
                              "writes what another lane overwrites in the same instruction");
      run_.report(std::move(found));
      return;
    }
  });
}

}  // namespace recto::ptx
