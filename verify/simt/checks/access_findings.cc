// The checker's findings, and its handling of asynchronous copies and mbarriers.

#include <fmt/format.h>

#include <algorithm>

#include "verify/simt/checks/access_checker.h"
#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/scheduler.h"

namespace recto::simt {
namespace {

// No GPU has memory below this address.
constexpr std::uintptr_t kNullBytes = 1 << 16;

bool is_copy(const AsyncCopy& a, const AsyncCopy& b) {
  return a.destination == b.destination && a.source == b.source;
}

// Describes the other access of a conflict.
std::string other_text(const Conflict& conflict) {
  if (conflict.kind == ConflictKind::kPending) {
    return "began a copy to it, not yet waited for";
  }
  if (conflict.other.is_atomic()) return "atomically updated it";
  return conflict.kind == ConflictKind::kWithWrite ? "wrote it" : "read it";
}

}  // namespace

Finding AccessChecker::finding_of(const Access& access, Check check, std::string what) const {
  Finding finding = running_thread().finding(check, std::move(what));
  finding.place = {.instruction = access.instruction};
  return finding;
}

std::string AccessChecker::describe(std::uintptr_t address) const {
  if (address - shared_begin_ < shared_bytes_) return block_->shared().describe(address);
  for (const ThreadState& thread : block_->threads()) {
    const StackMemory& stack = thread.fiber.stack();
    if (address - reinterpret_cast<std::uintptr_t>(stack.bottom) >= stack.bytes) continue;
    return fmt::format("the local memory of thread {}", thread.linear);
  }
  if (address < kNullBytes) return fmt::format("{:#x}, a null pointer", address);
  if (memory_.find(address) != nullptr) return memory_.describe(address);
  if (program_.find_loaded(address) != nullptr) {
    return "the program's own memory, not a registered buffer (a __device__ variable may be "
           "registered as one)";
  }
  return memory_.describe(address);
}

std::string AccessChecker::text_of(const Access& access) const {
  return access_text(access_verb(access.shape.kind), access.shape.bytes, describe(access.address));
}

// Nothing on the stack may own memory: the thread never returns to it.
void AccessChecker::refuse(const Access& access, Check check, std::string what) const {
  block_->scheduler().abandon(finding_of(access, check, std::move(what)));
}

void AccessChecker::refuse_place(const Access& access, Check check, const char* why) const {
  std::string what = text_of(access) + why;
  refuse(access, check, std::move(what));
}

void AccessChecker::refuse_misaligned(const Access& access) const {
  std::string what =
      fmt::format("{}, which is not aligned to {} bytes", text_of(access), access.shape.bytes);
  refuse(access, Check::kMisaligned, std::move(what));
}

void AccessChecker::misalignment(const Misalignment& object, std::uintptr_t instruction) {
  if (current_thread != thread_) resume_thread();
  std::string what = fmt::format("refers to {} at {}, which is not aligned to {} bytes",
                                 object.type, describe(object.address), object.alignment);
  refuse({.instruction = instruction}, Check::kMisaligned, std::move(what));
}

// Handles accesses that begin in a buffer but extend beyond its end, or beyond a logical piece.
void AccessChecker::look_across_ranges(const Access& access, GlobalBuffer& buffer) {
  if (access.shape.bytes > buffer.end - access.address) {
    refuse_place(access, Check::kOutOfBounds, ", beyond its end");
  }
  const LogicalBounds& bounds = *buffer.buffer->logical_bounds;
  const std::size_t begin = access.address - buffer.begin;
  const std::uint64_t block = block_->linear_index();
  for (std::size_t at = begin / bounds.piece_bytes;
       at * bounds.piece_bytes < begin + access.shape.bytes; ++at) {
    if (bounds.allows(block, at)) continue;
    std::string owner = bounds.owner_of_block.empty() ? "any thread block"
                        : block < bounds.owner_of_block.size()
                            ? fmt::format("owner {}", bounds.owner_of_block[block])
                            : "a thread block without owner";
    report(
        options_.logical_bounds,
        finding_of(
            access, Check::kLogicalBounds,
            fmt::format("{}, in piece {} (of {} bytes), outside the pieces of {}: it belongs to {}",
                        text_of(access), at, bounds.piece_bytes, owner, bounds.owners_text(at))));
    break;
  }
  look_at_buffer(access, buffer);
}

bool AccessChecker::is_news(Check check, std::uintptr_t instruction, std::uint32_t other_at) {
  return told_.emplace(check, instruction, other_at).second;
}

void AccessChecker::report(Severity severity, Finding finding) {
  if (severity == Severity::kFinding) {
    block_->scheduler().report(std::move(finding));
  } else if (severity == Severity::kNote) {
    finding.kernel = launch_->config.kernel;
    notes_.push_back(std::move(finding));
  }
}

void AccessChecker::report_unobserved() {
  Finding finding;
  finding.check = Check::kUnobserved;
  finding.kernel = launch_->config.kernel;
  finding.what =
      "none of its accesses was observed: build it with observed accesses (NAME_observed of "
      "simt_kernels), unless it loads and stores nothing itself";
  if (options_.unobserved_launches == Severity::kFinding) {
    launch_->report(0, std::move(finding));
  } else if (options_.unobserved_launches == Severity::kNote) {
    notes_.push_back(std::move(finding));
  }
}

void AccessChecker::report_conflict(const Access& part, Scope scope, const Conflict& conflict) {
  const bool is_grid = scope == Scope::kGrid;
  if (conflict.kind == ConflictKind::kUninitialised) {
    if (!is_news(Check::kUninitialised, part.instruction, 0)) return;
    report(is_grid ? options_.uninitialised_global : options_.uninitialised_shared,
           finding_of(
               part, Check::kUninitialised,
               fmt::format("{}, which {}", text_of(part),
                           is_grid ? "were never written" : "no thread of its block has written")));
    return;
  }
  const bool is_pending = conflict.kind == ConflictKind::kPending;
  const bool is_between_blocks = is_grid && order_.is_other_block(conflict.other);
  if (is_between_blocks && !is_pending) {
    const Buffer* buffer = memory_.find(part.address);
    if (buffer != nullptr && buffer->blocks_communicate) return;
  }
  const Check check = is_pending          ? Check::kUnfinishedCopy
                      : is_between_blocks ? Check::kGridRace
                                          : Check::kRace;
  if (!is_news(check, part.instruction, conflict.other_at)) return;
  Finding finding = finding_of(part, check, text_of(part));
  finding.other_thread = order_.place_of(conflict.other);
  finding.other_place = {.instruction = program_.instruction(conflict.other_at, part.instruction)};
  finding.other_what = other_text(conflict);
  if (is_between_blocks) {
    finding.other_what +=
        "; thread blocks of one launch are ordered only by grid barriers, or by atomic operations "
        "on one address with __threadfence() before the first and after the second (if they are "
        "ordered otherwise, mark the buffer with blocks_communicate)";
  } else if (!is_pending) {
    const bool is_same_warp = conflict.other.warp() == running_thread().linear / kWarpSize;
    finding.other_what += is_same_warp ? ", with no __syncwarp or __syncthreads in between"
                                       : ", with no __syncthreads in between";
  }
  report(is_pending ? Severity::kFinding : options_.races, std::move(finding));
}

// A range that begins outside all buffers is host memory, or an allocation that holds many buffers.
std::optional<Finding> AccessChecker::touch_by_host(const char* operation,
                                                    const TouchedRange& range) {
  buffers_.refresh();
  const GlobalBuffer* first = buffers_.buffer_at(range.begin);
  if (first != nullptr && range.end > first->end) {
    const std::string what = access_text(access_verb(range.kind), range.end - range.begin,
                                         memory_.describe(range.begin));
    return Finding{.check = Check::kOutOfBounds,
                   .what = fmt::format("{} {}, beyond its end", operation, what)};
  }
  if (range.kind != AccessKind::kWrite) return std::nullopt;
  for (const auto& [begin, buffer] : memory_.buffers()) {
    const std::uintptr_t from = std::max(begin, range.begin);
    const std::uintptr_t to = std::min(begin + buffer.bytes, range.end);
    if (buffer.use != BufferUse::kWriteFirst || from >= to) continue;
    buffers_.mark(reinterpret_cast<const void*>(from), to - from, AccessOrder::kHostWrite);
  }
  return std::nullopt;
}

void AccessChecker::look_at_copy(const AsyncCopy& copy, CopyStep step) {
  const OutsideKernel outside;
  if (current_thread != thread_) resume_thread();
  const auto look_at = [&](const void* address, std::size_t bytes, AccessKind kind) {
    if (bytes == 0) return;
    // Such copies have 4, 8 or 16 bytes, or multiples of 16, and are aligned accordingly.
    const std::size_t unit = std::min<std::size_t>(copy.destination_bytes, 16);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const Access access = {at, {bytes, kind, AccessAlignment::kAny}, copy.instruction, step};
    look(access);
    if (at % unit != 0) {
      refuse_misaligned({at, {unit, kind, AccessAlignment::kNatural}, copy.instruction, step});
    }
  };
  if (step != CopyStep::kFinishBulk) look_at(copy.source, copy.bytes, AccessKind::kRead);
  look_at(copy.destination, copy.destination_bytes, AccessKind::kWrite);
}

void AccessChecker::begin_copy(ThreadState& thread, const AsyncCopy& copy) {
  look_at_copy(copy, CopyStep::kBegin);
  if (copy.mbarrier == nullptr) {
    pending_.push_back({copy, &thread});
  } else {
    // If no thread waits for it, the thread block reports that.
    release(thread, copy.destination);
  }
}

// The source may be read as late as now.
void AccessChecker::finish_copy(ThreadState& thread, const AsyncCopy& copy) {
  if (copy.mbarrier != nullptr) {
    look_at_copy(copy, CopyStep::kFinishBulk);
    // Its bytes are visible to threads that wait for the phase in which it completes.
    order_.pass_on(*thread.block, copy.destination, copy.mbarrier);
    return;
  }
  look_at_copy(copy, CopyStep::kFinish);
  const auto found = std::ranges::find_if(pending_, [&](const PendingCopy& pending) {
    return pending.thread == &thread && is_copy(pending.copy, copy);
  });
  if (found != pending_.end()) pending_.erase(found);
}

void AccessChecker::release(ThreadState& thread, const void* object) {
  order_.release(thread, object);
  thread_ = nullptr;
}

void AccessChecker::end_phase(ThreadBlock& block, const void* object) {
  order_.end_phase(block, object);
}

void AccessChecker::acquire(ThreadState& thread, const void* object) {
  order_.acquire(thread, object);
  thread_ = nullptr;
}

void AccessChecker::pass_fence() {
  order_.pass_fence(running_thread());
  thread_ = nullptr;
}

void AccessChecker::exit_thread(ThreadState& thread) {
  const auto found = std::ranges::find(pending_, &thread, &PendingCopy::thread);
  if (found == pending_.end()) return;
  if (current_thread != thread_) resume_thread();
  const AsyncCopy copy = found->copy;
  std::erase_if(pending_, [&](const PendingCopy& pending) { return pending.thread == &thread; });
  if (!is_news(Check::kUnfinishedCopy, copy.instruction, 0)) return;
  const auto destination = reinterpret_cast<std::uintptr_t>(copy.destination);
  report(Severity::kFinding,
         finding_of({.instruction = copy.instruction}, Check::kUnfinishedCopy,
                    fmt::format("exits without waiting for its copy of {} bytes to {}",
                                copy.destination_bytes, describe(destination))));
}

}  // namespace recto::simt
