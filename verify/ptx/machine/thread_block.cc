#include "verify/ptx/machine/thread_block.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "verify/ptx/machine/memory_steps.h"
#include "verify/ptx/machine/special_registers.h"
#include "verify/ptx/machine/undefined_registers.h"

namespace recto::ptx {
namespace {

// How long a warp runs before others may, in steps that are not straight-line arithmetic.
constexpr std::uint64_t kTurnSteps = std::uint64_t{1} << 20;
constexpr std::uint64_t kRandomTurnSteps = 256;
// One in how many turns of the random policies releases lanes that wait where a branch ends.
constexpr std::uint64_t kRandomRelease = 16;

std::uint64_t count_with_copies(std::span<const Step> steps) {
  return std::accumulate(steps.begin(), steps.end(), std::uint64_t{steps.size()},
                         [](std::uint64_t sum, const Step& step) { return sum + step.copies; });
}

}  // namespace

ThreadBlock::ThreadBlock(LaunchRun& run)
    : run_(run),
      program_(run.program),
      reporter_(run),
      memory_(run, reporter_),
      warps_((run.shape.block.count() + kWarpSize - 1) / kWarpSize),
      barriers_(memory_, warps_),
      copies_(memory_),
      warpgroups_(memory_),
      random_(run.options.schedule.seed),
      threads_(static_cast<std::uint32_t>(run.shape.block.count())) {
  const std::size_t row_bytes = (program_.register_bytes + 63) / 64 * 64;
  registers_.resize(warps_.size() * row_bytes + 64);
  auto* const aligned = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(registers_.data()) + 63) / 64 * 64);
  for (std::uint32_t w = 0; w < warps_.size(); ++w) {
    warps_[w].number = w;
    warps_[w].registers = aligned + w * row_bytes;
    std::memcpy(warps_[w].registers, run.image.data(), run.image.size());
  }
  for (const Width width : {2, 4, 8}) {
    blends_[width] = find_lane_form("selp.b" + std::to_string(8 * width));
  }
}

void ThreadBlock::begin(const ClusterPlace& place, ClusterBarrier& cluster) {
  const std::uint64_t index = place.blocks[place.rank];
  cluster_ = &cluster;
  random_ = RandomStream(run_.options.schedule.seed).split(index);
  steps_taken_ = 0;
  last_warp_ = run_.options.schedule.policy == SchedulePolicy::kReverse ? warps_.size() - 1 : 0;
  reporter_.begin(index);
  memory_.begin(place);
  barriers_.begin();
  copies_.begin(threads_);
  warpgroups_.begin(static_cast<std::uint32_t>(warps_.size()));
  for (Warp& warp : warps_) {
    const std::uint32_t left = threads_ - warp.number * kWarpSize;
    warp.begin(left >= kWarpSize ? kAllLanes : (LaneMask{1} << left) - 1);
    fill_special_registers(memory_, warp);
    if (!program_.tracks_undefined) continue;
    for (std::vector<LaneMask>& half : warp.undefined) {
      half.assign(program_.register_bytes / sizeof(LaneMask), 0);
      for (const ValuePlace undefined : program_.undefined_at_entry) {
        half[undefined / sizeof(LaneMask)] = kAllLanes;
      }
    }
  }
}

bool ThreadBlock::has_finished() const {
  return std::all_of(warps_.begin(), warps_.end(), [](const Warp& warp) { return warp.live == 0; });
}

ThreadBlock::State ThreadBlock::run_for(std::uint64_t steps) {
  has_moved_ = false;
  while (!reporter_.has_abandoned()) {
    wake();
    Warp* const warp = choose_warp();
    if (warp == nullptr) return has_finished() ? State::kDone : State::kStuck;
    const std::uint64_t turn = is_random() ? 1 + random_.next_below(kRandomTurnSteps) : kTurnSteps;
    has_moved_ = true;
    steps_left_ = std::min(turn, steps);
    const std::uint64_t begun = steps_left_;
    run_group(*warp, warp->choose_group(run_.options.schedule.policy, random_));
    const std::uint64_t taken = begun - steps_left_;
    if (steps_left_ == 0) last_warp_ = (last_warp_ + 1) % warps_.size();
    steps_taken_ += taken;
    steps -= std::min(taken, steps);
    if (steps_taken_ > run_.options.steps_max && !reporter_.has_abandoned()) {
      const Warp::Group group = warp->groups.empty() ? Warp::Group{} : warp->groups[0];
      const auto lane =
          group.lanes == 0 ? 0U : static_cast<unsigned>(std::countr_zero(group.lanes));
      reporter_.abandon(Check::kNeverEnds, warp->thread(lane), program_.steps[group.step],
                        "still runs after " + std::to_string(steps_taken_) + " steps");
      break;
    }
    if (steps == 0 && !reporter_.has_abandoned()) {
      return has_finished() ? State::kDone : State::kRunning;
    }
  }
  return State::kAbandoned;
}

// Groups look again at mbarriers once a phase has ended, and at the cluster's barrier.
void ThreadBlock::wake() {
  for (Warp& warp : warps_) {
    for (Warp::Group& group : warp.groups) {
      const bool is_over =
          group.wait == Warp::Wait::kMbarrier
              ? group.barrier != memory_.mbarriers().num_ended()
              : group.wait == Warp::Wait::kClusterBarrier && group.barrier != cluster_->num_ended();
      if (is_over) group.wait = Warp::Wait::kNone;
    }
  }
}

// A warp that can go on. Lanes that wait for others at the end of a branch go on if all the others
// of their warp wait for something else.
Warp* ThreadBlock::choose_warp() {
  const std::size_t count = warps_.size();
  const SchedulePolicy policy = run_.options.schedule.policy;
  const std::size_t first = is_random() ? random_.next_below(count) : last_warp_;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t w =
        policy == SchedulePolicy::kReverse ? (first + count - i) % count : (first + i) % count;
    Warp& warp = warps_[w];
    if (!warp.is_ready() && !warp.release_joins()) continue;
    last_warp_ = w;
    return &warp;
  }
  return nullptr;
}

// A group that runs for long may wait for lanes that wait for it where a branch ends.
void ThreadBlock::end_turn(Warp& warp, std::size_t group) {
  ++warp.groups[group].turns;
  if (!is_random() || random_.next_below(kRandomRelease) == 0) warp.release_joins();
}

void ThreadBlock::run_group(Warp& warp, std::size_t index) {
  const Step* const steps = program_.steps.data();
  const bool counts = run_.options.counts;
  std::uint64_t plain_steps = 0;
  // What the group's lanes and step are, as long as it is the one that runs.
  LaneMask lanes = warp.groups[index].lanes;
  std::uint32_t at = warp.groups[index].step;
  std::uint32_t join = warp.join_of(index);
  for (;;) {
    const Step& step = steps[at];
    if (at == join) {
      warp.groups[index].step = at;
      warp.arrive_at_join(index);
      break;
    }
    if (step.straight != 0) {
      if (counts) plain_steps += count_with_copies(std::span(&step, step.straight));
      run_straight({warp, step, lanes});
      at += step.straight;
      continue;
    }
    if (steps_left_ == 0) {
      warp.groups[index].step = at;
      end_turn(warp, index);
      break;
    }
    --steps_left_;
    const LaneMask enabled = warp.enabled_lanes(step, lanes);
    if (counts) {
      plain_steps += step.copies;
      run_.outcome.counters.by_action[static_cast<std::size_t>(step.action)] += enabled != 0;
    }
    if (step.is_tracked && !is_well_defined(warp, step, lanes, enabled)) break;
    if (step.action == Action::kBranch) {
      // Most branches are taken by all lanes or by none.
      if (enabled == 0) {
        ++at;
        continue;
      }
      if (enabled == lanes && run_.options.schedule.policy != SchedulePolicy::kRandomThread) {
        at = step.target;
        continue;
      }
    }
    // Loads are frequent, and move no group.
    if (step.action == Action::kLoad && enabled != 0 && !step.is_tracked) {
      if (!load(memory_, {warp, step, enabled}, detail_of(step))) break;
      ++at;
      continue;
    }
    warp.groups[index].step = at;
    const Next next = act(index, {warp, step, enabled});
    if (reporter_.has_abandoned() || next == Next::kBlocked || next == Next::kEnded) break;
    const Warp::Group& group = warp.groups[index];
    lanes = group.lanes;
    at = next == Next::kStep ? at + 1 : group.step;
    join = warp.join_of(index);
  }
  run_.outcome.counters.by_action[static_cast<std::size_t>(Action::kLanes)] += plain_steps;
}

// Steps that only compute.
void ThreadBlock::run_straight(const WarpStep& at) const {
  const Step* const end = &at.step + at.step.straight;
  if (at.lanes == at.warp.live) {
    std::byte* const registers = at.warp.registers;
    for (const Step* each = &at.step; each != end; ++each) each->lanes(registers, *each);
  } else {
    for (const Step* each = &at.step; each != end; ++each) run_masked({at.warp, *each, at.lanes});
  }
}

// Results go to scratch memory first, and from there to the lanes that take part.
void ThreadBlock::run_masked(const WarpStep& at) const {
  const Warp& warp = at.warp;
  Step apart = at.step;
  apart.d = program_.scratch_d;
  at.step.lanes(warp.registers, apart);
  if (at.step.d_width == kPredicateWidth) {
    warp.set_mask(at.step.d, at.lanes, warp.mask_at(apart.d));
    return;
  }
  warp.mask_at(program_.scratch_e) = at.lanes;
  Step blend;
  blend.d = at.step.d;
  blend.a = apart.d;
  blend.b = at.step.d;
  blend.c = program_.scratch_e;
  blends_[at.step.d_width]->function(warp.registers, blend);
}

bool ThreadBlock::is_well_defined(Warp& warp, const Step& step, LaneMask lanes, LaneMask enabled) {
  const LaneMask undefined = undefined_uses(program_, {warp, step, lanes}, enabled);
  if (undefined != 0) {
    reporter_.abandon(Check::kUndefinedRegister,
                      warp.thread(static_cast<unsigned>(std::countr_zero(undefined))), step,
                      "uses a register that was never written");
    return false;
  }
  return enabled == 0 || warpgroups_.check_registers(warp, step);
}

bool ThreadBlock::expire_waits() {
  bool expires = false;
  for (Warp& warp : warps_) {
    for (Warp::Group& group : warp.groups) {
      if (group.wait != Warp::Wait::kMbarrier) continue;
      group.wait = Warp::Wait::kNone;
      group.has_expired = true;
      expires = true;
    }
  }
  return expires;
}

}  // namespace recto::ptx
