// Describes the findings in a thread block.

#include <fmt/format.h>

#include <bit>

#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/scheduler.h"
#include "verify/simt/executor/thread_block.h"

namespace recto::simt {
namespace {

std::string at_text(const ThreadState& thread) { return fmt::format("is at {}", thread.operation); }

// Two threads at different places, or at places that do not match.
Finding both(const ThreadState& one, const ThreadState& other, Check check) {
  Finding finding = one.finding(check, at_text(one));
  finding.other_thread = other.place();
  finding.other_place.site = other.site;
  finding.other_what = at_text(other);
  return finding;
}

}  // namespace

Finding ThreadState::finding(Check check, std::string what) const {
  return {.check = check, .thread = place(), .place = {site}, .what = std::move(what)};
}

void ThreadState::refuse(Check check, std::string what) const {
  block->scheduler().abandon(finding(check, std::move(what)));
}

void ThreadBlock::check_same_barrier(const ThreadState& thread) {
  const ThreadState& first = *barrier_.first;
  if (first.operation == thread.operation && first.site == thread.site) return;
  scheduler_->abandon(both(thread, first, Check::kBarrierDivergence));
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

void ThreadBlock::refuse_branches(const ThreadState& lane, const ThreadState& other) {
  Finding finding = both(lane, other, Check::kBarrierDivergence);
  finding.what = fmt::format("calls {}, which all lanes of a warp must call at the same place",
                             lane.operation);
  scheduler_->abandon(std::move(finding));
}

// Only lanes that existed count.
void ThreadBlock::report_exited(const WarpState& warp, const WarpState::Meeting& meeting) const {
  const std::size_t begin = std::size_t{warp.number} * kWarpSize;
  const std::size_t lanes = threads_.size() - begin;
  const std::uint32_t existing = lanes >= kWarpSize ? ~0U : (1U << lanes) - 1;
  const std::uint32_t exited = meeting.mask & existing & ~meeting.arrived;
  if (exited == 0) return;
  const ThreadState& thread =
      threads_[begin + static_cast<unsigned>(std::countr_zero(meeting.arrived))];
  scheduler_->report(
      thread.finding(Check::kWarpMask,
                     fmt::format("calls {} with mask {:#010x}, of which lanes {:#010x} have exited",
                                 thread.operation, meeting.mask, exited)));
}

// No thread is left that could wait for the copies.
void ThreadBlock::check_copies(const ThreadState& thread) const {
  const bool has_bulk_copy = is_done() && !mbarriers_.copies.empty();
  if (thread.copies.empty() && !has_bulk_copy) return;
  const AsyncCopy& copy =
      thread.copies.empty() ? mbarriers_.copies.front() : thread.copies.front().copy;
  Finding finding =
      thread.finding(Check::kUnfinishedCopy, "exits with an unfinished asynchronous copy");
  finding.place = {};
  finding.other_place.site = copy.site;
  finding.other_what = fmt::format("{} bytes were requested", copy.destination_bytes);
  scheduler_->abandon(std::move(finding));
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
    finding.other_what = "has exited: " + standings();
    return finding;
  }
  const ThreadState& waiting = elsewhere == nullptr ? threads_[0] : *elsewhere;
  return waiting.finding(Check::kDeadlock, "waits for an event that cannot occur; " + standings());
}

std::string ThreadBlock::standings() const {
  constexpr int kGroupsMax = 16;
  std::string text;
  int groups = 0;
  // Neighbours at the same place are described together.
  for (std::size_t first = 0; first < threads_.size();) {
    const ThreadState& thread = threads_[first];
    std::size_t last = first;
    while (last + 1 < threads_.size() && threads_[last + 1].standing == thread.standing &&
           threads_[last + 1].site == thread.site) {
      ++last;
    }
    if (!text.empty()) text += ", ";
    if (++groups > kGroupsMax) return text + "and so on";
    text += first == last ? fmt::format("thread {}", first)
                          : fmt::format("threads {} to {}", first, last);
    if (thread.standing == Standing::kExited) {
      text += ": exited";
    } else if (thread.site.line > 0) {
      text += fmt::format(": {} {} at {}",
                          thread.standing == Standing::kCanRun ? "running, last" : "waiting",
                          thread.operation, CodePlace{thread.site}.text());
    } else {
      text += ": running";
    }
    first = last + 1;
  }
  return text;
}

}  // namespace recto::simt
