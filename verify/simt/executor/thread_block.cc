#include "verify/simt/executor/thread_block.h"

#include <fmt/format.h>

#include <bit>

#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/observer.h"
#include "verify/simt/executor/scheduler.h"
#include "verify/simt/executor/symbolise.h"

namespace recto::simt {
namespace {

std::uint32_t bit(unsigned lane) { return std::uint32_t{1} << lane; }

std::uint32_t lanes_below(unsigned count) {
  return count >= kWarpSize ? ~std::uint32_t{0} : bit(count) - 1;
}

std::string at_text(const ThreadState& thread) { return fmt::format("is at {}", thread.operation); }

// Two threads at different places, or at places that do not go together.
Finding both(const ThreadState& one, const ThreadState& other, Check check) {
  Finding finding = one.block->finding_of(one, check, at_text(one));
  finding.other_thread = other.block->finding_of(other, check, {}).thread;
  finding.other_place.site = other.site;
  finding.other_what = at_text(other);
  return finding;
}

}  // namespace

void ThreadBlock::begin(Launch& launch, Scheduler& scheduler, std::uint64_t index) {
  launch_ = &launch;
  scheduler_ = &scheduler;
  linear_index_ = index;
  exited_ = 0;
  barrier_ = {};
  ready_.clear();
  mbarriers_.clear();
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
    thread.block = this;
    thread.standing = Standing::kCanRun;
    thread.operation = "";
    thread.site = {};
    thread.is_in_call = false;
    thread.copies.clear();
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

Finding ThreadBlock::finding_of(const ThreadState& thread, Check check, std::string what) const {
  Finding finding{.check = check, .what = std::move(what)};
  finding.thread = ThreadPlace{thread.block_index, thread.thread_index, thread.linear};
  finding.place.site = thread.site;
  return finding;
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

void ThreadBlock::check_same_barrier(const ThreadState& thread) {
  const ThreadState& first = *barrier_.first;
  if (first.operation == thread.operation && first.site == thread.site) return;
  scheduler_->abandon(both(thread, first, Check::kBarrierDivergence));
}

void ThreadBlock::open_barrier() {
  const int arrived = static_cast<int>(barrier_.arrived);
  switch (barrier_.reduction) {
    case BarrierReduction::kNone:
    case BarrierReduction::kCount:
      barrier_.result = barrier_.sum;
      break;
    case BarrierReduction::kAnd:
      barrier_.result = barrier_.sum == arrived ? 1 : 0;
      break;
    case BarrierReduction::kOr:
      barrier_.result = barrier_.sum > 0 ? 1 : 0;
      break;
  }
  barrier_.arrived = 0;
  if (launch_->observer != nullptr) launch_->observer->pass_barrier(*this);
  for (ThreadState& thread : threads_) {
    if (thread.standing != Standing::kAtBlockBarrier) continue;
    thread.standing = Standing::kCanRun;
    ready_.insert(thread.linear);
  }
}

void ThreadBlock::meet(std::uint32_t mask, void* payload, const Collective& collective, Site site) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread();
  WarpState& warp = *thread.warp;
  thread.mask = mask;
  thread.operation = collective.name;
  thread.site = site;
  const unsigned lane = thread.lane();
  const std::uint32_t own = bit(lane);
  auto number = static_cast<unsigned>(std::countr_zero(mask)) % kWarpSize;
  if (((warp.waiting >> number & mask >> lane) & 1) == 0 || warp.meetings[number].mask != mask) {
    number = thread.block->find_meeting(thread, collective);
  }
  WarpState::Meeting& meeting = warp.meetings[number];
  if (meeting.what != &collective) [[unlikely]]
    thread.block->refuse_meeting(thread, collective, meeting);
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

// The meeting that lanes with this mask have come to, or a new one. Others may meet beside it, as
// halves of a warp do: but not if each waits for the other.
unsigned ThreadBlock::find_meeting(const ThreadState& thread, const Collective& collective) {
  WarpState& warp = *thread.warp;
  const std::uint32_t own = bit(thread.lane());
  if ((thread.mask & own) == 0) {
    scheduler_->abandon(finding_of(thread, Check::kWarpMask,
                                   fmt::format("calls {} with mask {:#010x}, which it is not in",
                                               collective.name, thread.mask)));
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
  // Each meeting has a lane that waits, and this one does not, so that there is room.
  if ((warp.waiting & bit(number)) != 0) {
    number = static_cast<unsigned>(std::countr_one(warp.waiting));
  }
  warp.meetings[number] = {thread.mask, 0, &collective};
  warp.waiting |= bit(number);
  return number;
}

void ThreadBlock::complete(WarpState& warp, unsigned number, std::uint32_t others) {
  const WarpState::Meeting& meeting = warp.meetings[number];
  meeting.what->combine(warp.payloads.data(), meeting.arrived);
  if (launch_->observer != nullptr) {
    launch_->observer->pass_collective(*this, warp.number, meeting.arrived, *meeting.what);
  }
  warp.waiting &= ~bit(number);
  ready_.insert_lanes(warp.number, others);
}

void ThreadBlock::refuse_meeting(const ThreadState& thread, const Collective& collective,
                                 const WarpState::Meeting& meeting) {
  const auto other_lane = static_cast<unsigned>(std::countr_zero(meeting.arrived));
  const ThreadState& other = threads_[thread.warp->number * kWarpSize + other_lane];
  Finding finding = both(thread, other, Check::kWarpMask);
  finding.what = fmt::format("calls {} with mask {:#010x}", collective.name, thread.mask);
  finding.other_what += fmt::format(" with mask {:#010x}", other.mask);
  scheduler_->abandon(std::move(finding));
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

// Nobody is left who could wait for them.
void ThreadBlock::check_copies(const ThreadState& thread) const {
  const bool has_bulk_copy = is_done() && !mbarriers_.copies().empty();
  if (thread.copies.empty() && !has_bulk_copy) return;
  const AsyncCopy& copy =
      thread.copies.empty() ? mbarriers_.copies().front() : thread.copies.oldest();
  Finding finding =
      finding_of(thread, Check::kUnfinishedCopy, "exits with an asynchronous copy under way");
  finding.place = {};
  finding.other_place.site = copy.site;
  finding.other_what = fmt::format("{} bytes were asked for", copy.destination_bytes);
  scheduler_->abandon(std::move(finding));
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

Finding ThreadBlock::stuck() const {
  const ThreadState* at_barrier = nullptr;
  const ThreadState* elsewhere = nullptr;
  const ThreadState* exited = nullptr;
  for (const ThreadState& thread : threads_) {
    const ThreadState*& kind = thread.standing == Standing::kAtBlockBarrier ? at_barrier
                               : thread.standing == Standing::kExited       ? exited
                                                                            : elsewhere;
    if (kind == nullptr) kind = &thread;
  }
  if (at_barrier != nullptr && elsewhere != nullptr) {
    return both(*at_barrier, *elsewhere, Check::kBarrierDivergence);
  }
  if (at_barrier != nullptr && exited != nullptr) {
    Finding finding = both(*at_barrier, *exited, Check::kExitBeforeBarrier);
    finding.other_place = {};
    finding.other_what = "has exited";
    return finding;
  }
  Finding finding = finding_of(elsewhere == nullptr ? threads_[0] : *elsewhere, Check::kDeadlock,
                               "waits for what nobody will do; ");
  finding.what += standings();
  return finding;
}

std::string ThreadBlock::standings() const {
  std::string text;
  // Neighbours at the same place are told together.
  for (std::size_t first = 0; first < threads_.size();) {
    const ThreadState& thread = threads_[first];
    std::size_t last = first;
    while (last + 1 < threads_.size() && threads_[last + 1].standing == thread.standing &&
           threads_[last + 1].site == thread.site) {
      ++last;
    }
    if (!text.empty()) text += ", ";
    text += first == last ? fmt::format("thread {}", first)
                          : fmt::format("threads {} to {}", first, last);
    if (thread.standing == Standing::kExited) {
      text += ": exited";
    } else if (thread.site.line > 0) {
      text += fmt::format(": {} {} at {}",
                          thread.standing == Standing::kCanRun ? "running, last" : "waiting",
                          thread.operation, place_text({thread.site, 0}));
    } else {
      text += ": running";
    }
    first = last + 1;
  }
  return text;
}

}  // namespace recto::simt
