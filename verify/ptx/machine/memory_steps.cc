#include "verify/ptx/machine/memory_steps.h"

#include <cstring>
#include <string>

#include "verify/ptx/arithmetic/matrix_fragment.h"

namespace recto::ptx {
namespace {

constexpr unsigned kRows = 8;  // of a matrix

// Element `offset` of each lane's memory, extended to the register.
template <typename Memory, typename Register>
void load_rows(const LaneAddresses& pointers, LaneMask lanes, std::size_t offset, Register* d) {
  for_each_lane_of(lanes, [&](unsigned lane) {
    Memory value;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(pointers[lane]) + offset, sizeof(value));
    d[lane] = static_cast<Register>(value);
  });
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

// Copies `bytes` of each lane's register to its memory.
void store_rows(const WarpStep& at, const Detail& detail, std::size_t index,
                const LaneAddresses& pointers) {
  const std::byte* const data = at.warp.registers + detail.uses[index];
  const std::size_t bytes = detail.element_bytes;
  const std::size_t width = detail.width;
  const auto copy = [&]<std::size_t kBytes>() {
    for_each_lane_of(at.lanes, [&](unsigned lane) {
      std::memcpy(reinterpret_cast<std::byte*>(pointers[lane]) + index * kBytes,
                  data + lane * width, kBytes);
    });
  };
  switch (bytes) {
    case 1:
      return copy.operator()<1>();
    case 2:
      return copy.operator()<2>();
    case 4:
      return copy.operator()<4>();
    default:
      return copy.operator()<8>();
  }
}

// Accesses with an ordering are atomic.
AccessKind kind_of(const Detail& detail, bool is_load) {
  using enum AccessKind;
  if (detail.ordering == Ordering::kWeak) return is_load ? kRead : kWrite;
  if (detail.is_of_block) return is_load ? kBlockAtomicRead : kBlockAtomic;
  return is_load ? kAtomicRead : kAtomic;
}

// What accesses with an ordering tell other threads.
void pass_ordering(BlockMemory& memory, const WarpStep& at, const Detail& detail,
                   const LaneAddresses& pointers) {
  if (memory.checker() == nullptr || detail.ordering == Ordering::kWeak) return;
  const bool is_both = detail.ordering == Ordering::kAcquireRelease;
  for_each_lane_of(at.lanes, [&](unsigned lane) {
    memory.checker()->pass_atomic({.warp = at.warp.number,
                                   .lane = lane,
                                   .address = pointers[lane],
                                   .is_of_block = detail.is_of_block,
                                   .releases = is_both || detail.ordering == Ordering::kRelease,
                                   .acquires = is_both || detail.ordering == Ordering::kAcquire});
  });
}

// Lanes of one step that store different values in one place: which of them stays is not defined.
void check_lanes_agree(BlockMemory& memory, const WarpStep& at, const Detail& detail,
                       const LaneAddresses& pointers) {
  // Mostly, each lane stores behind the one before.
  const std::size_t bytes = detail.element_bytes * detail.uses.size();
  bool is_in_order = true;
  for (unsigned lane = 1; lane < kWarpSize; ++lane) {
    is_in_order &= pointers[lane] == pointers[lane - 1] + bytes;
  }
  if (is_in_order) return;
  for (LaneMask left = at.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(left));
    for (std::size_t i = 0; i < detail.uses.size(); ++i) {
      const std::byte* const own = at.warp.registers + detail.uses[i] + lane * detail.width;
      const auto* const held =
          reinterpret_cast<const std::byte*>(pointers[lane]) + i * detail.element_bytes;
      if (std::memcmp(own, held, detail.element_bytes) == 0) continue;
      Reporter& reporter = memory.reporter();
      reporter.report(reporter.finding(Check::kRace, at.warp.thread(lane), at.step,
                                       "writes what another lane overwrites in the same "
                                       "instruction"));
      return;
    }
  }
}

bool access_rows(BlockMemory& memory, const WarpStep& at, const Detail& detail, AccessKind kind,
                 LaneAddresses& pointers) {
  const LaneMask rows = lanes_with_rows(detail);
  if (const LaneMask missing = rows & ~at.lanes; missing != 0) {
    memory.reporter().abandon(Check::kWarpMask, at.warp.thread(at.first_lane()), at.step,
                              "needs a row's address of lane " +
                                  std::to_string(__builtin_ctz(missing)) + ", which takes no part");
    return false;
  }
  return memory.access(at.warp, detail.memory,
                       {&at.step, rows, 16, kind, is_write(kind) ? "writes" : "reads"}, pointers);
}

MatrixOrder order_of(const Detail& detail) {
  return detail.is_transposed ? MatrixOrder::kTransposed : MatrixOrder::kPlain;
}

}  // namespace

bool load(BlockMemory& memory, const WarpStep& at, const Detail& detail) {
  const std::size_t count = detail.defs.size();
  const Warp& warp = at.warp;
  const Access what{&at.step, at.lanes, static_cast<std::uint32_t>(detail.element_bytes * count),
                    kind_of(detail, true), "reads"};
  const bool is_plain = detail.width == detail.element_bytes;
  const LoadShape shape{detail.width, static_cast<std::uint8_t>(count), detail.defs.data()};
  if (is_plain && at.lanes == kAllLanes && memory.load_usual(warp, detail.memory, what, shape)) {
    return true;
  }
  LaneAddresses pointers;
  if (!memory.access(warp, detail.memory, what, pointers)) return false;
  pass_ordering(memory, at, detail, pointers);
  if (is_plain && at.lanes == warp.live) {
    memory.tables().load_all_lanes(warp.registers, pointers.data(), shape);
    return true;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ValuePlace place = detail.defs[i];
    const std::size_t offset = i * detail.element_bytes;
    if (detail.width == 4) {
      load_element(detail, pointers, at.lanes, offset, warp.row<std::uint32_t>(place));
    } else if (detail.width == 2) {
      load_element(detail, pointers, at.lanes, offset, warp.row<std::uint16_t>(place));
    } else {
      load_element(detail, pointers, at.lanes, offset, warp.row<std::uint64_t>(place));
    }
  }
  return true;
}

bool store(BlockMemory& memory, const WarpStep& at, const Detail& detail) {
  const std::size_t count = detail.uses.size();
  const bool is_weak = detail.ordering == Ordering::kWeak;
  LaneAddresses pointers;
  const Access what{&at.step, at.lanes, static_cast<std::uint32_t>(detail.element_bytes * count),
                    kind_of(detail, false), "writes"};
  if (!memory.access(at.warp, detail.memory, what, pointers)) return false;
  pass_ordering(memory, at, detail, pointers);
  for (std::size_t i = 0; i < count; ++i) store_rows(at, detail, i, pointers);
  if (memory.run().options.checks.races && is_weak) check_lanes_agree(memory, at, detail, pointers);
  return true;
}

// The lanes of a warp take their turns in the order of their numbers.
bool atomic(BlockMemory& memory, const WarpStep& at, const Detail& detail) {
  const bool is_swap = detail.atomic == AtomicOperation::kCompareAndSwap;
  const std::size_t count = is_swap ? 1 : detail.uses.size();
  LaneAddresses pointers;
  const Access what{&at.step, at.lanes, static_cast<std::uint32_t>(detail.width * count),
                    kind_of(detail, false), "updates"};
  if (!memory.access(at.warp, detail.memory, what, pointers)) return false;
  pass_ordering(memory, at, detail, pointers);
  const auto value = [&](ValuePlace place, unsigned lane) {
    return at.warp.registers + place + lane * detail.width;
  };
  const auto operand = [&](std::size_t i, unsigned lane) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, value(detail.uses[i], lane), detail.width);
    return bits;
  };
  for_each_lane_of(at.lanes, [&](unsigned lane) {
    const bool is_global =
        detail.type == ScalarType::kF32 && memory.run().memory.find(pointers[lane]) != nullptr;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t old = 0;
      auto* const element = reinterpret_cast<std::byte*>(pointers[lane]) + i * detail.width;
      std::memcpy(&old, element, detail.width);
      const std::uint64_t next =
          combined(detail, {old, operand(i, lane), is_swap ? operand(1, lane) : 0, is_global});
      std::memcpy(element, &next, detail.width);
      if (!detail.defs.empty()) std::memcpy(value(detail.defs[i], lane), &old, detail.width);
    }
  });
  return true;
}

bool load_matrix(BlockMemory& memory, const WarpStep& at, const Detail& detail) {
  LaneAddresses pointers;
  if (!access_rows(memory, at, detail, AccessKind::kRead, pointers)) return false;
  for (unsigned i = 0; i < detail.count; ++i) {
    Matrix8x8 matrix;
    for (unsigned r = 0; r < kRows; ++r) {
      std::memcpy(matrix[r], reinterpret_cast<const void*>(pointers[kRows * i + r]), 16);
    }
    load_fragment(matrix, order_of(detail), *at.warp.row<RegisterRow>(detail.defs[i]));
  }
  return true;
}

bool store_matrix(BlockMemory& memory, const WarpStep& at, const Detail& detail) {
  LaneAddresses pointers;
  if (!access_rows(memory, at, detail, AccessKind::kWrite, pointers)) return false;
  for (unsigned i = 0; i < detail.count; ++i) {
    Matrix8x8 matrix;
    store_fragment(*at.warp.row<RegisterRow>(detail.uses[i]), order_of(detail), matrix);
    for (unsigned r = 0; r < kRows; ++r) {
      std::memcpy(reinterpret_cast<void*>(pointers[kRows * i + r]), matrix[r], 16);
    }
  }
  return true;
}

}  // namespace recto::ptx
