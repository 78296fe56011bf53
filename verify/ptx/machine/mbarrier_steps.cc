#include "verify/ptx/machine/mbarrier_steps.h"

#include <cstring>

namespace recto::ptx {
namespace {

constexpr std::uint32_t kObjectBytes = 8;

const char* verb_of(MbarrierMode mode) {
  switch (mode) {
    case MbarrierMode::kInit:
      return "initialises";
    case MbarrierMode::kInvalidate:
      return "invalidates";
    case MbarrierMode::kExpect:
    case MbarrierMode::kComplete:
      return "counts bytes at";
    case MbarrierMode::kTest:
    case MbarrierMode::kTry:
      return "waits at";
    default:
      return "arrives at";
  }
}

// "arrives at full_bar+8 "
std::string what_of(const BlockMemory& memory, const Detail& detail,
                    const BlockMemory::SharedPlace& place) {
  return std::string(verb_of(detail.mbarrier.mode)) + " the mbarrier " +
         memory.shared_text(place.offset) + " ";
}

void abandon(BlockMemory& memory, const WarpStep& at, unsigned lane, std::string what) {
  memory.reporter().abandon(Check::kMbarrier, at.warp.thread(lane), at.step, std::move(what));
}

// What is done at one object by lanes of one step.
class Operation {
 public:
  Operation(BlockMemory& memory, const WarpStep& at, const Detail& detail)
      : memory_(memory), at_(at), detail_(detail) {}

  bool init(unsigned lane, const BlockMemory::SharedPlace& place) {
    const std::uint32_t stream = memory_.run().num_streams++;
    if (!is_right(lane, place, memory_.mbarriers().init(place.offset, operand(lane), stream))) {
      return false;
    }
    if (memory_.checker() != nullptr) {
      memory_.mbarriers().find(place.offset)->init =
          memory_.checker()->stamp({AccessKind::kWrite, at_.warp.number, lane, at_.step.place});
    }
    return true;
  }

  bool invalidate(unsigned lane, const MbarrierAt& found) {
    const bool is_own = found.place.owner == &memory_;
    return is_right(lane, found.place,
                    is_own ? memory_.mbarriers().invalidate(found.place.offset)
                           : std::string("of another thread block"));
  }

  bool count_bytes(unsigned lane, const MbarrierAt& found) {
    const std::int64_t bytes = operand(lane);
    const bool expects = detail_.mbarrier.mode == MbarrierMode::kExpect;
    return is_right(lane, found.place,
                    found.place.owner->mbarriers().expect(*found.object, expects ? bytes : -bytes));
  }

  bool arrive(unsigned lane, const MbarrierAt& found) {
    Mbarrier& object = *found.object;
    Mbarriers& mbarriers = found.place.owner->mbarriers();
    if ((at_.step.defs & kFieldD) != 0) {
      const std::uint64_t state = object.phase | std::uint64_t{object.pending} << 32;
      at_.warp.row<std::uint64_t>(at_.step.d)[lane] = state;
    }
    const bool expects = detail_.mbarrier.expects;
    if (expects && !is_right(lane, found.place, mbarriers.expect(object, operand(lane)))) {
      return false;
    }
    const std::uint32_t count = expects ? 1 : operand(lane);
    if (detail_.mbarrier.is_complete_forbidden && count == object.pending && object.bytes == 0) {
      return is_right(lane, found.place, "with .noComplete, and completes the phase");
    }
    const bool drops = detail_.mbarrier.mode == MbarrierMode::kArriveDrop;
    return is_right(lane, found.place,
                    drops ? mbarriers.drop(object, count) : mbarriers.arrive(object, count));
  }

  // Before the first of the lanes arrives, because the last of them may end the phase.
  void release(const MbarrierAt& found, LaneMask lanes) {
    BlockChecker* const checker = memory_.checker();
    if (checker == nullptr) return;
    using Scope = BlockChecker::Scope;
    const Scope scope = found.place.owner == &memory_ ? Scope::kBlock : Scope::kGrid;
    if (detail_.mbarrier.is_relaxed && !checker->has_fenced(at_.warp.number, lanes, scope)) return;
    checker->release({at_.warp.number, lanes, at_.warp.live}, found.object->arriving);
  }

 private:
  std::uint32_t operand(unsigned lane) const {
    return at_.warp.row<std::uint32_t>(at_.step.a)[lane];
  }
  bool is_right(unsigned lane, const BlockMemory::SharedPlace& place,
                const std::string& problem) const {
    if (!problem.empty()) abandon(memory_, at_, lane, what_of(memory_, detail_, place) + problem);
    return problem.empty();
  }

  BlockMemory& memory_;
  const WarpStep& at_;
  const Detail& detail_;
};

bool touch(BlockMemory& memory, const WarpStep& at, const Detail& detail) {
  const MbarrierMode mode = detail.mbarrier.mode;
  const bool is_life = mode == MbarrierMode::kInit || mode == MbarrierMode::kInvalidate;
  const bool is_wait = mode == MbarrierMode::kTest || mode == MbarrierMode::kTry;
  const AccessKind kind = is_life   ? AccessKind::kWrite
                          : is_wait ? AccessKind::kAtomicRead
                                    : AccessKind::kAtomic;
  LaneAddresses pointers;
  return memory.access(at.warp, detail.memory,
                       {&at.step, at.lanes, kObjectBytes, kind, verb_of(mode)}, pointers);
}

LaneMask lanes_at(BlockMemory& memory, const WarpStep& at, const Detail& detail, unsigned lane) {
  LaneAddresses addresses;
  memory.compute_addresses(at.warp, detail.memory, at.lanes, addresses);
  LaneMask lanes = 0;
  for_each_lane_of(at.lanes, [&](unsigned other) {
    if (addresses[other] == addresses[lane]) lanes |= LaneMask{1} << other;
  });
  return lanes;
}

}  // namespace

namespace {

// Operations of the object are atomic; its initialisation must precede them.
void check_init(BlockMemory& memory, const WarpStep& at, const MbarrierAt& found, unsigned lane) {
  const Stamp& init = found.object->init;
  if (init.block == 0 || memory.checker()->precedes(init, at.warp.number, lane)) return;
  const Access access{&at.step, at.lanes, kObjectBytes, AccessKind::kAtomic, "needs"};
  memory.reporter().report_conflict(at.warp.thread(lane), access, {Conflict::Kind::kRace, init},
                                    "the mbarrier at " + memory.shared_text(found.place.offset));
}

}  // namespace

std::optional<MbarrierAt> mbarrier_at(BlockMemory& memory, const WarpStep& at,
                                      const MemoryOperand& operand, unsigned lane) {
  const auto place = memory.shared_place(at.warp, operand, lane);
  if (!place) {
    abandon(memory, at, lane, "needs an mbarrier, and has an address outside of shared memory");
    return std::nullopt;
  }
  Mbarrier* const object = place->owner->mbarriers().find(place->offset);
  if (object == nullptr) {
    abandon(memory, at, lane,
            "needs an mbarrier, and finds none at " + memory.shared_text(place->offset) +
                ": none was initialised there, or it was invalidated");
    return std::nullopt;
  }
  const MbarrierAt found{object, *place};
  check_init(memory, at, found, lane);
  return found;
}

bool operate(BlockMemory& memory, const WarpStep& at, const Detail& detail) {
  Operation operation(memory, at, detail);
  const MbarrierMode mode = detail.mbarrier.mode;
  const bool arrives = mode == MbarrierMode::kArrive || mode == MbarrierMode::kArriveDrop;
  // An object must not be there when its memory is written.
  if (mode != MbarrierMode::kInvalidate && !touch(memory, at, detail)) return false;
  LaneMask released = 0;
  for (LaneMask left = at.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(left));
    if (mode == MbarrierMode::kInit) {
      const auto place = memory.shared_place(at.warp, detail.memory, lane);
      if (!place || place->owner != &memory) {
        abandon(memory, at, lane, "initialises an mbarrier outside of its own shared memory");
        return false;
      }
      if (!operation.init(lane, *place)) return false;
      continue;
    }
    const std::optional<MbarrierAt> found = mbarrier_at(memory, at, detail.memory, lane);
    if (!found) return false;
    if (arrives && (released >> lane & 1) == 0) {
      const LaneMask together = lanes_at(memory, at, detail, lane);
      operation.release(*found, together);
      released |= together;
    }
    const bool is_right = arrives                             ? operation.arrive(lane, *found)
                          : mode == MbarrierMode::kInvalidate ? operation.invalidate(lane, *found)
                                                              : operation.count_bytes(lane, *found);
    if (!is_right) return false;
  }
  return mode != MbarrierMode::kInvalidate || touch(memory, at, detail);
}

std::optional<LaneMask> lanes_of_ended_phases(BlockMemory& memory, const WarpStep& at,
                                              const Detail& detail, Patience patience) {
  if (!touch(memory, at, detail)) return std::nullopt;
  LaneMask ended = 0;
  for (LaneMask left = at.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(left));
    const std::optional<MbarrierAt> found = mbarrier_at(memory, at, detail.memory, lane);
    if (!found) return std::nullopt;
    Mbarrier& object = *found->object;
    const auto wrong = [&](const std::string& problem) {
      abandon(memory, at, lane, what_of(memory, detail, found->place) + problem);
      return std::nullopt;
    };
    if (found->place.owner != &memory) return wrong("of another thread block");
    std::uint32_t phase = 0;  // or its parity
    std::uint32_t mask = ~std::uint32_t{0};
    if (detail.mbarrier.is_parity) {
      phase = at.warp.row<std::uint32_t>(at.step.a)[lane];
      mask = 1;
      if (phase > 1) return wrong("for parity " + std::to_string(phase) + ", which is 0 or 1");
    } else {
      phase = static_cast<std::uint32_t>(at.warp.row<std::uint64_t>(at.step.a)[lane]);
      if (object.phase - phase > 1) {
        return wrong("for phase " + std::to_string(phase) + "; it is in phase " +
                     std::to_string(object.phase));
      }
    }
    if ((object.phase & mask) == phase && patience == Patience::kWaits) {
      const std::string problem = memory.mbarriers().deliver(object);
      if (!problem.empty()) return wrong(problem);
    }
    if ((object.phase & mask) == phase) continue;
    ended |= LaneMask{1} << lane;
    object.is_end_seen = true;
    if (memory.checker() != nullptr && !detail.mbarrier.is_relaxed) {
      memory.checker()->acquire(at.warp.number, object.ended);
    }
  }
  return ended;
}

}  // namespace recto::ptx
