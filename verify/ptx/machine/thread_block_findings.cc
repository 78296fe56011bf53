// What findings of a thread block say.

#include <bit>
#include <utility>

#include "verify/ptx/machine/thread_block.h"

namespace recto::ptx {

ThreadPlace ThreadBlock::thread_place(const Warp& warp, unsigned lane) const {
  const std::uint32_t linear = warp.number * kWarpSize + lane;
  return {block_index_, run_.shape.block.at(linear), linear};
}

Finding ThreadBlock::finding(Check check, const Warp& warp, unsigned lane, const Step& step,
                             std::string what) const {
  Finding found;
  found.check = check;
  found.kernel = program_.kernel;
  found.thread = thread_place(warp, lane);
  found.place = run_.code_place(step.place);
  found.what = std::move(what);
  return found;
}

void ThreadBlock::report(Check check, const Warp& warp, unsigned lane, const Step& step,
                         std::string what) {
  run_.report(finding(check, warp, lane, step, std::move(what)));
  abandon();
}

void ThreadBlock::report_stuck() {
  const Warp* waits_at_barrier = nullptr;
  const Warp* waits_in_warp = nullptr;
  std::size_t barrier_group = 0;
  std::size_t warp_group = 0;
  for (const Warp& warp : warps_) {
    for (std::size_t i = 0; i < warp.groups.size(); ++i) {
      if (warp.groups[i].wait == Wait::kBarrier && waits_at_barrier == nullptr) {
        waits_at_barrier = &warp;
        barrier_group = i;
      }
      if (warp.groups[i].wait == Wait::kMeeting && waits_in_warp == nullptr) {
        waits_in_warp = &warp;
        warp_group = i;
      }
    }
  }
  const bool is_in_warp = waits_in_warp != nullptr;
  const Warp& warp = is_in_warp ? *waits_in_warp : *waits_at_barrier;
  const Group& group = warp.groups[is_in_warp ? warp_group : barrier_group];
  const Step& step = program_.steps[group.step];
  const auto lane = static_cast<unsigned>(std::countr_zero(group.lanes));
  Finding found =
      finding(is_in_warp ? Check::kWarpMask : Check::kBarrierDivergence, warp, lane, step,
              is_in_warp ? "waits for lanes of its mask that never arrive"
                         : "waits at a barrier that others never reach");
  // Another party: a thread that waits somewhere else.
  for (const Warp& other : warps_) {
    for (const Group& elsewhere : other.groups) {
      if (elsewhere.step == group.step || !found.other_what.empty()) continue;
      found.other_thread =
          thread_place(other, static_cast<unsigned>(std::countr_zero(elsewhere.lanes)));
      found.other_place = run_.code_place(program_.steps[elsewhere.step].place);
      found.other_what = "waits here";
    }
  }
  if (found.other_what.empty() && exited_ != 0) {
    found.other_what = std::to_string(exited_) + " threads have exited";
  }
  run_.report(std::move(found));
  abandon();
}

// Buffers whose pieces belong to owners: a wrong block id leads to memory that is in bounds.
bool ThreadBlock::stays_in_pieces(const Warp& warp, const Access& access,
                                  const LaneAddresses& pointers) {
  const Buffer* buffer = nullptr;
  for_each_lane_of(access.lanes, [&](unsigned lane) {
    const std::uint64_t address = pointers[lane];
    if (buffer == nullptr || address - buffer->begin >= buffer->bytes) {
      buffer = run_.memory.find(address);
    }
    if (is_abandoned_ || buffer == nullptr || buffer->logical_bounds == nullptr) return;
    const simt::LogicalBounds& bounds = *buffer->logical_bounds;
    const std::size_t last = (address - buffer->begin + access.bytes - 1) / bounds.piece_bytes;
    for (std::size_t i = (address - buffer->begin) / bounds.piece_bytes; i <= last; ++i) {
      if (bounds.allows(index_, i)) continue;
      const bool is_owned = index_ < bounds.owner_of_block.size();
      report(Check::kLogicalBounds, warp, lane, *access.step,
             std::string(access.verb) + " " + std::to_string(access.bytes) + " bytes of " +
                 run_.memory.text_of(address) + ", in piece " + std::to_string(i) + " (of " +
                 std::to_string(bounds.piece_bytes) + " bytes), outside the pieces of " +
                 (is_owned ? "owner " + std::to_string(bounds.owner_of_block[index_])
                           : std::string("its thread block")) +
                 ": it belongs to " + bounds.owners_text(i));
      return;
    }
  });
  return !is_abandoned_;
}

std::string ThreadBlock::shared_text(std::uint64_t address) const {
  if (address == 0) return "null";
  const NamedPiece* nearest = nullptr;
  for (const NamedPiece& piece : shared_pieces_) {
    if (piece.begin <= address) nearest = &piece;
  }
  if (nearest == nullptr) {
    return "shared memory at " + std::to_string(address) + ", before all variables";
  }
  const std::uint64_t offset = address - nearest->begin;
  if (offset < nearest->bytes) return nearest->name + "+" + std::to_string(offset);
  return "shared memory " + std::to_string(offset - nearest->bytes) + " bytes past the end of " +
         nearest->name + " (" + std::to_string(nearest->bytes) + " bytes)";
}

void ThreadBlock::report_conflict(const Warp& warp, unsigned lane, const Access& access,
                                  const Conflict& conflict, const std::string& where) {
  using Kind = Conflict::Kind;
  const Check check = conflict.kind == Kind::kRace            ? Check::kRace
                      : conflict.kind == Kind::kGridRace      ? Check::kGridRace
                      : conflict.kind == Kind::kUninitialised ? Check::kUninitialisedMemory
                                                              : Check::kUnfinishedCopy;
  Finding found = finding(check, warp, lane, *access.step, std::string(access.verb) + " " + where);
  if (conflict.kind == Kind::kUninitialised) {
    found.what += ", which nobody has written";
  } else {
    const Stamp& other = conflict.other;
    const std::uint32_t linear = other.thread;
    found.other_thread =
        ThreadPlace{run_.shape.grid.at(other.block - 1), run_.shape.block.at(linear), linear};
    found.other_place = run_.code_place(other.place);
    found.other_what = conflict.kind == Kind::kUnfinishedCopy ? "copies to it until it waits"
                       : !is_write(other.kind)                ? "reads it"
                                                              : "writes it";
    if (other.lanes != 0) found.other_what += ", with other lanes";
  }
  run_.report(std::move(found));
}

}  // namespace recto::ptx
