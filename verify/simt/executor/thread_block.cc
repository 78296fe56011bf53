#include "verify/simt/executor/thread_block.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "verify/simt/executor/device_api.h"
#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/observer.h"
#include "verify/simt/executor/scheduler.h"

namespace recto::simt {
namespace {

std::uint32_t bit(unsigned lane) { return std::uint32_t{1} << lane; }

std::uint32_t lanes_below(unsigned count) {
  return count >= kWarpSize ? ~std::uint32_t{0} : bit(count) - 1;
}

}  // namespace

void ThreadBlock::begin(Launch& launch, Scheduler& scheduler, std::uint64_t index) {
  launch_ = &launch;
  scheduler_ = &scheduler;
  linear_index_ = index;
  exited_ = 0;
  barrier_ = {};
  ready_.clear();
  mbarriers_.barriers.clear();
  mbarriers_.copies.clear();
  shared_.begin(launch.config.dynamic_shared_bytes);
  const LaunchConfig& config = launch.config;
  const auto count = static_cast<unsigned>(config.block.count());
  const Dim3 block_index = index_in(config.grid, index);
  threads_.resize(count);
  Dim3 at{0, 0, 0};
  for (unsigned linear = 0; linear < count; ++linear) {
    ThreadState& thread = threads_[linear];
    thread.thread_index = at;
    thread.block_index = block_index;
    thread.block_dim = config.block;
    thread.grid_dim = config.grid;
    thread.linear = linear;
    thread.atomics = 0;
    thread.block = this;
    thread.standing = Standing::kCanRun;
    thread.operation = "";
    thread.site = {};
    thread.is_in_call = false;
    thread.copies.clear();
    thread.copy_group = 0;
    if (++at.x == config.block.x) {
      at.x = 0;
      if (++at.y == config.block.y) at = {0, 0, at.z + 1};
    }
  }
  begin_warps();
}

void ThreadBlock::begin_warps() {
  const auto count = static_cast<unsigned>(threads_.size());
  warps_.resize((count + kWarpSize - 1) / kWarpSize);
  for (unsigned number = 0; number < warps_.size(); ++number) {
    const std::uint32_t existing = lanes_below(count - number * kWarpSize);
    warps_[number].number = number;
    warps_[number].exited = ~existing;
    warps_[number].waiting = 0;
    ready_.insert_lanes(number, existing);
  }
  for (ThreadState& thread : threads_) thread.warp = &warps_[thread.linear / kWarpSize];
}

void ThreadState::deliver(const AsyncCopy& copy) {
  auto* destination = static_cast<std::byte*>(copy.destination);
  is_in_call = true;
  // A source of no bytes may be null.
  if (copy.bytes > 0) std::memcpy(destination, copy.source, copy.bytes);
  std::memset(destination + copy.bytes, 0, copy.destination_bytes - copy.bytes);
  is_in_call = false;
  Observer* observer = block->launch().observer;
  if (observer != nullptr) observer->finish_copy(*this, copy);
}

int ThreadBlock::wait_at_barrier(ThreadState& thread, BarrierReduction reduction, int predicate,
                                 const char* name) {
  thread.standing = Standing::kAtBlockBarrier;
  thread.operation = name;
  if (barrier_.arrived == 0) {
    barrier_.first = &thread;
    barrier_.sum = 0;
    barrier_.reduction = reduction;
  } else {
    check_same_barrier(thread);
  }
  barrier_.sum += predicate != 0 ? 1 : 0;
  ++barrier_.arrived;
  if (barrier_.arrived + exited_ == threads_.size()) {
    if (exited_ > 0 && !launch_->options.allows_exit_before_barrier) {
      scheduler_->abandon(stuck());
    }
    open_barrier();
  }
  scheduler_->wait(thread);
  return barrier_.result;
}

void ThreadBlock::open_barrier() {
  const int arrived = static_cast<int>(barrier_.arrived);
  barrier_.result = barrier_.sum;
  if (barrier_.reduction == BarrierReduction::kAnd) barrier_.result = barrier_.sum == arrived;
  if (barrier_.reduction == BarrierReduction::kOr) barrier_.result = barrier_.sum > 0;
  barrier_.arrived = 0;
  if (launch_->observer != nullptr) launch_->observer->pass_barrier(*this);
  for (ThreadState& thread : threads_) {
    if (thread.standing != Standing::kAtBlockBarrier) continue;
    thread.standing = Standing::kCanRun;
    ready_.insert(thread.linear);
  }
}

void device::collective(std::uint32_t mask, void* payload, const Collective& what, Site site) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread();
  WarpState& warp = *thread.warp;
  thread.mask = mask;
  thread.operation = what.name;
  thread.site = site;
  const unsigned lane = thread.lane();
  const std::uint32_t own = bit(lane);
  auto number = static_cast<unsigned>(std::countr_zero(mask)) % kWarpSize;
  if (((warp.waiting >> number & mask >> lane) & 1) == 0 || warp.meetings[number].mask != mask) {
    number = thread.block->find_meeting(thread, what);
  }
  WarpState::Meeting& meeting = warp.meetings[number];
  if (meeting.what != &what) [[unlikely]]
    thread.block->refuse_meeting(thread, what, meeting);
  warp.payloads[lane] = payload;
  meeting.arrived |= own;
  Scheduler& scheduler = *thread.block->scheduler_;
  if (meeting.arrived == (mask & ~warp.exited)) {
    thread.block->complete(warp, number, meeting.arrived & ~own);
    scheduler.count_step(thread);
    return;
  }
  thread.standing = Standing::kAtCollective;
  scheduler.wait(thread);
  thread.standing = Standing::kCanRun;
}

// The meeting at which lanes with this mask have arrived, or a new one. Others may meet at the same
// time, such as halves of a warp, but not if each waits for the other.
unsigned ThreadBlock::find_meeting(const ThreadState& thread, const Collective& collective) {
  WarpState& warp = *thread.warp;
  const std::uint32_t own = bit(thread.lane());
  if ((thread.mask & own) == 0) {
    thread.refuse(Check::kWarpMask,
                  fmt::format("calls {} with mask {:#010x}, which does not include it",
                              collective.name, thread.mask));
  }
  for (std::uint32_t left = warp.waiting; left != 0; left &= left - 1) {
    const auto number = static_cast<unsigned>(std::countr_zero(left));
    const WarpState::Meeting& other = warp.meetings[number];
    if (other.mask == thread.mask) return number;
    if ((other.mask & own) != 0 && (other.arrived & thread.mask) != 0) {
      refuse_meeting(thread, collective, other);
    }
  }
  auto number = static_cast<unsigned>(std::countr_zero(thread.mask));
  // Each meeting has a waiting lane, and this lane does not wait, so there is room.
  if ((warp.waiting & bit(number)) != 0) {
    number = static_cast<unsigned>(std::countr_one(warp.waiting));
  }
  warp.meetings[number] = {thread.mask, 0, &collective};
  warp.waiting |= bit(number);
  return number;
}

void ThreadBlock::complete(WarpState& warp, unsigned number, std::uint32_t others) {
  const WarpState::Meeting& meeting = warp.meetings[number];
  if (!launch_->options.allows_exit_before_collective) report_exited(warp, meeting);
  meeting.what->combine(warp.payloads.data(), meeting.arrived);
  if (launch_->observer != nullptr) {
    launch_->observer->pass_collective(*this, warp.number, meeting.arrived, *meeting.what);
  }
  warp.waiting &= ~bit(number);
  ready_.insert_lanes(warp.number, others);
}

void ThreadBlock::exit_thread(ThreadState& thread) {
  if (launch_->observer != nullptr) launch_->observer->exit_thread(thread);
  thread.standing = Standing::kExited;
  ++exited_;
  check_copies(thread);
  release_meetings_without(thread);
  if (barrier_.arrived > 0 && barrier_.arrived + exited_ == threads_.size()) {
    if (!launch_->options.allows_exit_before_barrier) scheduler_->abandon(stuck());
    open_barrier();
  }
  scheduler_->leave(thread);
}

// Lanes that have exited are not waited for.
void ThreadBlock::release_meetings_without(const ThreadState& thread) {
  WarpState& warp = *thread.warp;
  warp.exited |= bit(thread.lane());
  for (std::uint32_t left = warp.waiting; left != 0; left &= left - 1) {
    const auto number = static_cast<unsigned>(std::countr_zero(left));
    const WarpState::Meeting& meeting = warp.meetings[number];
    if (meeting.arrived == (meeting.mask & ~warp.exited)) complete(warp, number, meeting.arrived);
  }
}

}  // namespace recto::simt
