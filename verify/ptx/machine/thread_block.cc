#include "verify/ptx/machine/thread_block.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <utility>

namespace recto::ptx {
namespace {

// How long a warp runs before others may, in steps that are not straight-line arithmetic.
constexpr std::uint64_t kTurnSteps = std::uint64_t{1} << 20;
constexpr std::uint64_t kRandomTurnSteps = 256;
// One in how many turns of the random policies releases lanes that wait where a branch ends.
constexpr std::uint64_t kRandomRelease = 16;

}  // namespace

ThreadBlock::ThreadBlock(LaunchRun& run)
    : run_(run), program_(run.program), random_(run.options.schedule.seed) {
  threads_ = static_cast<std::uint32_t>(run.shape.block.count());
  const std::uint32_t warps = (threads_ + kWarpSize - 1) / kWarpSize;
  const std::size_t row_bytes = (program_.register_bytes + 63) / 64 * 64;
  registers_.resize(warps * row_bytes + 64);
  auto* const aligned = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(registers_.data()) + 63) / 64 * 64);
  warps_.resize(warps);
  for (std::uint32_t w = 0; w < warps; ++w) {
    warps_[w].number = w;
    warps_[w].registers = aligned + w * row_bytes;
    std::memcpy(warps_[w].registers, run.image.data(), run.image.size());
  }
  shared_pieces_ = program_.shared;
  shared_end_ = program_.has_dynamic_shared ? program_.dynamic_shared_begin : program_.shared_bytes;
  shared_end_ += static_cast<std::uint32_t>(run.shape.dynamic_shared_bytes);
  if (program_.has_dynamic_shared) {
    shared_pieces_.back().bytes = run.shape.dynamic_shared_bytes;
  }
  shared_.resize(shared_end_ + 16);
  local_.resize(static_cast<std::size_t>(program_.local_bytes) * threads_);
  if (run.options.checks.records_accesses()) {
    checker_.emplace(
        BlockChecker::Options{run.options.checks.races, run.options.checks.uninitialised_memory},
        shared_end_);
  }
  for (const Width width : {2, 4, 8}) {
    blends_[width] = find_lane_form("selp.b" + std::to_string(8 * width));
  }
  for (Barrier& barrier : barriers_) {
    barrier.arrived.resize(warps);
    barrier.waiting.resize(warps);
  }
}

void ThreadBlock::begin(std::uint64_t index) {
  index_ = index;
  block_index_ = run_.shape.grid.at(index);
  random_ = RandomStream(run_.options.schedule.seed).split(index);
  is_abandoned_ = false;
  exited_ = 0;
  steps_taken_ = 0;
  last_warp_ = run_.options.schedule.policy == SchedulePolicy::kReverse ? warps_.size() - 1 : 0;
  if (checker_) {
    checker_->begin(static_cast<std::uint32_t>(index + 1),
                    static_cast<std::uint32_t>(warps_.size()));
  }
  for (Barrier& barrier : barriers_) {
    std::fill(barrier.arrived.begin(), barrier.arrived.end(), 0);
    std::fill(barrier.waiting.begin(), barrier.waiting.end(), 0);
    barrier.is_used = false;
  }
  for (Warp& warp : warps_) {
    const std::uint32_t left = threads_ - warp.number * kWarpSize;
    warp.live = left >= kWarpSize ? kAllLanes : (LaneMask{1} << left) - 1;
    warp.groups.assign(1, {0, warp.live});
    warp.nodes.clear();
    for (LaneCopies& copies : warp.copies) copies = {};
    warp.has_copies = false;
    fill_specials(warp);
    if (program_.tracks_undefined) {
      warp.undefined.assign(program_.register_bytes / sizeof(LaneMask), 0);
      for (const ValuePlace place : program_.undefined_at_entry) {
        warp.undefined[place / sizeof(LaneMask)] = kAllLanes;
      }
    }
  }
}

// Rows that differ between thread blocks or warps.
void ThreadBlock::fill_specials(Warp& warp) {
  const Dim3& grid = run_.shape.grid;
  const Dim3& block = run_.shape.block;
  const auto workspace = reinterpret_cast<std::uintptr_t>(run_.grid_workspace.data());
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const Dim3 thread = block.at(warp.number * kWarpSize + lane);
    const LaneMask bit = LaneMask{1} << lane;
    // In the order of SpecialValue.
    const std::uint64_t values[] = {thread.x,
                                    thread.y,
                                    thread.z,
                                    block.x,
                                    block.y,
                                    block.z,
                                    block_index_.x,
                                    block_index_.y,
                                    block_index_.z,
                                    grid.x,
                                    grid.y,
                                    grid.z,
                                    lane,
                                    warp.number,
                                    warps_.size(),
                                    0,
                                    1,
                                    1,  // the multiprocessor, their number, the grid
                                    bit,
                                    bit | (bit - 1),
                                    bit - 1,
                                    LaneMask{~(bit - 1)},
                                    LaneMask{~(bit | (bit - 1))},
                                    run_.shape.dynamic_shared_bytes,
                                    shared_end_ - kSharedBegin,
                                    workspace & 0xffffffff,
                                    workspace >> 32,
                                    1,
                                    0};
    static_assert(std::size(values) == static_cast<std::size_t>(SpecialValue::kCount));
    for (const SpecialRow& special : program_.specials) {
      std::memcpy(warp.registers + special.place + lane * special.width,
                  &values[static_cast<std::size_t>(special.value)], special.width);
    }
  }
}

bool ThreadBlock::has_finished() const {
  return std::all_of(warps_.begin(), warps_.end(), [](const Warp& warp) { return warp.live == 0; });
}

ThreadBlock::State ThreadBlock::run_for(std::uint64_t steps) {
  while (!is_abandoned_) {
    Warp* const warp = choose_warp();
    if (warp == nullptr) {
      if (has_finished()) return State::kDone;
      report_stuck();
      break;
    }
    const bool is_random = run_.options.schedule.policy >= SchedulePolicy::kRandomWarp;
    const std::uint64_t turn = is_random ? 1 + random_.next_below(kRandomTurnSteps) : kTurnSteps;
    steps_left_ = std::min(turn, steps);
    const std::uint64_t begun = steps_left_;
    run_group(*warp, choose_group(*warp));
    const std::uint64_t taken = begun - steps_left_;
    if (steps_left_ == 0) last_warp_ = (last_warp_ + 1) % warps_.size();
    steps_taken_ += taken;
    steps -= std::min(taken, steps);
    if (steps_taken_ > run_.options.steps_max && !is_abandoned_) {
      const Group& group = warp->groups.empty() ? Group{} : warp->groups[0];
      report(Check::kNeverEnds, *warp, group.lanes == 0 ? 0 : std::countr_zero(group.lanes),
             program_.steps[group.step],
             "still runs after " + std::to_string(steps_taken_) + " steps");
      break;
    }
    if (steps == 0 && !is_abandoned_) return has_finished() ? State::kDone : State::kRunning;
  }
  return State::kAbandoned;
}

// A warp that can go on. Lanes that wait for others at the end of a branch go on if all the others
// of their warp wait for something else.
ThreadBlock::Warp* ThreadBlock::choose_warp() {
  const auto is_ready = [](const Warp& warp) {
    return std::any_of(warp.groups.begin(), warp.groups.end(),
                       [](const Group& group) { return group.wait == Wait::kNone; });
  };
  const std::size_t count = warps_.size();
  std::size_t first = last_warp_;
  const SchedulePolicy policy = run_.options.schedule.policy;
  if (policy >= SchedulePolicy::kRandomWarp) first = random_.next_below(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t w =
        policy == SchedulePolicy::kReverse ? (first + count - i) % count : (first + i) % count;
    Warp& warp = warps_[w];
    if (!is_ready(warp) && !release_joins(warp)) continue;
    last_warp_ = w;
    return &warp;
  }
  return nullptr;
}

std::size_t ThreadBlock::choose_group(const Warp& warp) {
  const SchedulePolicy policy = run_.options.schedule.policy;
  std::size_t chosen = warp.groups.size();
  std::uint64_t ready = 0;
  for (std::size_t i = 0; i < warp.groups.size(); ++i) {
    if (warp.groups[i].wait != Wait::kNone) continue;
    ++ready;
    const bool is_first = chosen == warp.groups.size();
    // Whoever spins must let others run.
    const auto rank = [](const Group& group) { return std::pair(group.turns, group.step); };
    bool is_better = is_first || rank(warp.groups[i]) < rank(warp.groups[chosen]);
    if (policy == SchedulePolicy::kReverse) {
      is_better = is_first || warp.groups[i].turns < warp.groups[chosen].turns ||
                  (warp.groups[i].turns == warp.groups[chosen].turns &&
                   warp.groups[i].step > warp.groups[chosen].step);
    } else if (policy >= SchedulePolicy::kRandomWarp) {
      is_better = random_.next_below(ready) == 0;
    }
    if (is_better) chosen = i;
  }
  return chosen;
}

// A group that runs for long may wait for lanes that wait for it where a branch ends.
void ThreadBlock::end_turn(Warp& warp, Group& group) {
  ++group.turns;
  const bool is_random = run_.options.schedule.policy >= SchedulePolicy::kRandomWarp;
  if (!is_random || random_.next_below(kRandomRelease) == 0) release_joins(warp);
}

// The lanes that wait where a branch ends become a group of their own.
bool ThreadBlock::release_joins(Warp& warp) {
  bool releases = false;
  for (Node& node : warp.nodes) {
    if (node.arrived == 0) continue;
    warp.groups.push_back({node.join, node.arrived, node.parent});
    node.expected &= ~node.arrived;
    node.arrived = 0;
    releases = true;
  }
  return releases;
}

}  // namespace recto::ptx
