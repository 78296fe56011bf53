#include "verify/simt/checks/access_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/contract.h"
#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/scheduler.h"

namespace recto::simt {
namespace {

std::uint32_t lower_half(std::uintptr_t instruction) {
  return static_cast<std::uint32_t>(instruction);
}

bool is_write(AccessKind kind) { return kind == AccessKind::kWrite || kind == AccessKind::kAtomic; }

bool is_atomic(AccessKind kind) {
  return kind == AccessKind::kAtomic || kind == AccessKind::kAtomicRead;
}

bool is_misaligned(std::uintptr_t address, const AccessShape& shape) {
  return shape.alignment == AccessAlignment::kNatural && (address & (shape.bytes - 1)) != 0;
}

// Whether the access reads a whole structure. It may have padding between its members, which is
// never written.
bool may_have_padding(std::uintptr_t address, const AccessShape& shape) {
  return shape.kind == AccessKind::kRead && shape.alignment == AccessAlignment::kAny &&
         (address | shape.bytes) % 2 == 0;
}

}  // namespace

void AccessChecker::begin_launch(Launch& launch) {
  launch_ = &launch;
  tells_touched_ = launch.config.tells_touched;
  buffers_.refresh();
  program_.refresh();
  if (order_.is_exhausted()) {
    order_ = {};
    buffers_.forget_accesses();
    for (auto& [block, cells] : shared_cells_) cells.clear();
  }
  order_.begin_launch(launch);
  pending_.clear();
  told_.clear();
  thread_ = nullptr;
  block_ = nullptr;
  constants_ = {};
  accesses_before_ = accesses_;
}

void AccessChecker::end_launch() {
  if (tells_touched_) launch_->touched = touched_.take();
  // (An abandoned thread block may not have reached its first access.)
  if (accesses_ == accesses_before_ && launch_->stop_at == UINT64_MAX) report_unobserved();
  launch_ = nullptr;
}

void AccessChecker::begin_block(ThreadBlock& block) {
  order_.begin_block(block);
  ShadowCells& cells = shared_cells_[&block];
  if (!cells.is_mapped()) RECTO_CHECK(cells.map(block.shared().memory().size()));
  thread_ = nullptr;
  block_ = nullptr;
  random_ =
      RandomStream(launch_->options.schedule.seed).split("preemption").split(block.linear_index());
  settle_accesses();
  accesses_left_ = options_.accesses_max;
  plan_event();
}

// Plans the next event: the next preemption, or the last allowed access.
void AccessChecker::plan_event() {
  until_event_ = accesses_left_;
  const std::uint64_t period = launch_->options.schedule.preemption_period;
  if (period > 0) until_event_ = std::min(until_event_, 1 + random_.next_below(2 * period - 1));
  accesses_left_ -= until_event_;
  accesses_ += until_event_;
}

// Subtracts planned accesses that did not happen.
void AccessChecker::settle_accesses() {
  accesses_ -= until_event_;
  until_event_ = 0;
}

void AccessChecker::end_block(ThreadBlock& block) {
  settle_accesses();
  std::erase_if(pending_, [&](const PendingCopy& p) { return p.thread->block == &block; });
}

void AccessChecker::pass_barrier(ThreadBlock& block) {
  order_.pass_barrier(block);
  thread_ = nullptr;
}

void AccessChecker::pass_grid_barrier() {
  order_.pass_grid_barrier();
  thread_ = nullptr;
}

void AccessChecker::pass_collective(ThreadBlock& block, unsigned warp, std::uint32_t lanes,
                                    const Collective& what) {
  if (!what.orders_memory) return;
  order_.pass_warp_barrier(block, warp, lanes);
  thread_ = nullptr;
}

void AccessChecker::resume_thread() {
  const ThreadState& thread = running_thread();
  order_.resume(thread);
  thread_ = &thread;
  const StackMemory& stack = thread.fiber.stack();
  stack_begin_ = reinterpret_cast<std::uintptr_t>(stack.bottom);
  stack_bytes_ = stack.bytes;
  if (block_ == thread.block) return;
  block_ = thread.block;
  cells_ = &shared_cells_[block_];
  const std::span<std::byte> shared = block_->shared().memory();
  shared_begin_ = reinterpret_cast<std::uintptr_t>(shared.data());
  shared_bytes_ = shared.size();
  variable_bytes_ = 0;
  buffers_.set_thread_block(block_->linear_index());
}

void AccessChecker::access(std::uintptr_t address, AccessShape shape, std::uintptr_t instruction) {
  const Access access = {address, shape, instruction};
  last_instruction_ = instruction;
  if (--until_event_ == 0) [[unlikely]]
    take_turn(access);
  if (current_thread != thread_) [[unlikely]]
    resume_thread();
  look(access);
}

void AccessChecker::take_turn(const Access& access) {
  ThreadState& thread = running_thread();
  if (accesses_left_ == 0) {
    resume_thread();
    std::string what = fmt::format("still runs after {} accesses to memory; {}",
                                   options_.accesses_max, block_->standings());
    refuse(access, Check::kNeverEnds, std::move(what));
  }
  plan_event();
  thread.block->scheduler().yield(thread);
}

void AccessChecker::look(const Access& access) {
  const std::uintptr_t address = access.address;
  if (address - shared_begin_ < shared_bytes_) return look_at_shared(access);
  // threadIdx and its siblings.
  if (address - reinterpret_cast<std::uintptr_t>(thread_) < sizeof(KernelThread)) return;
  // Only the compiler knows where variables on the stack begin and end. And g++ reports the copy of
  // a 16-byte structure as one access, whatever the structure's alignment.
  if (address - stack_begin_ < stack_bytes_) return;
  if (const auto* range = buffers_.find(address, access.shape.bytes)) {
    return look_at_buffer(access, *range->buffer);
  }
  if (constants_.contains(address) && !is_write(access.shape.kind)) return;
  look_elsewhere(access);
}

void AccessChecker::look_at_shared(const Access& access) {
  const std::uintptr_t offset = access.address - shared_begin_;
  if (!is_in_variable(access) && !find_variable(access)) [[unlikely]]
    refuse_place(access, Check::kOutOfBounds, "");
  if (is_misaligned(access.address, access.shape)) [[unlikely]]
    refuse_misaligned(access);
  const bool may_be_uninitialised =
      options_.uninitialised_shared == Severity::kOff || access.shape.is_overwriting;
  note<Scope::kBlock>(access, *cells_, offset,
                      may_be_uninitialised ? 0 : order_.first_epoch<Scope::kBlock>());
}

bool AccessChecker::find_variable(const Access& access) {
  const SharedMemory::Placed* placed = block_->shared().placed_at(access.address - shared_begin_);
  if (placed == nullptr) return false;
  variable_begin_ = shared_begin_ + placed->offset;
  variable_bytes_ = placed->bytes;
  return is_in_variable(access);
}

void AccessChecker::look_at_buffer(const Access& access, GlobalBuffer& buffer) {
  if (is_misaligned(access.address, access.shape)) [[unlikely]]
    refuse_misaligned(access);
  if (tells_touched_) touched_.note(access.address, access.shape.bytes, access.shape.kind);
  if (buffer.use == BufferUse::kReadOnly) {
    if (is_write(access.shape.kind)) [[unlikely]]
      refuse_place(access, Check::kReadOnly, ", which is read-only");
    return;
  }
  if (!buffer.has_cells()) [[unlikely]] {
    refuse(access, Check::kInvalidLaunch,
           fmt::format("uses {}, but there is no address space to watch its {} bytes",
                       buffer.buffer->name, buffer.buffer->bytes));
  }
  const bool must_be_written = buffer.use == BufferUse::kWriteFirst && !buffer.is_forgotten &&
                               options_.uninitialised_global != Severity::kOff &&
                               !access.shape.is_overwriting;
  note<Scope::kGrid>(access, buffer.cells, access.address - buffer.begin,
                     must_be_written ? AccessOrder::kHostEpoch : 0);
  if (order_.has_fences() && is_atomic(access.shape.kind)) [[unlikely]]
    order_.pass_atomic(running_thread(), access.address, access.shape.kind);
}

template <Scope kScope>
void AccessChecker::note(const Access& access, ShadowCells& cells, std::size_t offset,
                         std::uint32_t written_from) {
  if (written_from > 0 && access.copy_step == CopyStep::kNone &&
      may_have_padding(access.address, access.shape)) [[unlikely]] {
    return note_copied<kScope>(access, cells, offset, written_from);
  }
  note_bytes<kScope>(access, cells, offset, written_from);
}

// Padding is shorter than the structure's alignment, which divides its address and its size: each
// piece of that size must contain a written byte.
template <Scope kScope>
void AccessChecker::note_copied(const Access& access, ShadowCells& cells, std::size_t offset,
                                std::uint32_t written_from) {
  constexpr std::size_t kAlignmentMax = 8;
  const std::size_t bits = access.address | access.shape.bytes | kAlignmentMax;
  const std::size_t piece = bits & -bits;
  for (std::size_t begin = 0; begin < access.shape.bytes; begin += piece) {
    bool is_written = false;
    cells.for_each(offset + begin, piece,
                   [&](const AccessRecord& record, std::size_t, std::size_t) {
                     is_written = is_written || record.write.epoch() >= written_from;
                   });
    Access part = access;
    part.address += begin;
    part.shape.bytes = piece;
    note_bytes<kScope>(part, cells, offset + begin, is_written ? 0 : written_from);
  }
}

template <Scope kScope>
void AccessChecker::note_bytes(const Access& access, ShadowCells& cells, std::size_t offset,
                               std::uint32_t written_from) {
  const AccessKind kind = access.shape.kind;
  cells.for_each(
      offset, access.shape.bytes, [&](AccessRecord& record, std::size_t at, std::size_t bytes) {
        if (access.copy_step == CopyStep::kNone) {
          if (is_repeated(record, kind, order_.now())) return;
          AccessRecorder<kScope> recorder(order_, written_from, lower_half(access.instruction));
          if (kind == AccessKind::kRead && recorder.joins_lanes(record)) return;
        }
        Access part = access;
        part.address += at - offset;
        part.shape.bytes = bytes;
        note_part<kScope>(part, record, written_from);
      });
}

template <Scope kScope>
void AccessChecker::note_part(const Access& part, AccessRecord& record,
                              std::uint32_t written_from) {
  AccessRecorder<kScope> recorder(order_, written_from, lower_half(part.instruction));
  const AccessKind kind = part.shape.kind;
  const CopyStep step = kind == AccessKind::kWrite ? part.copy_step : CopyStep::kNone;
  if (step == CopyStep::kFinish) return recorder.finish_pending(record);
  if (step == CopyStep::kFinishBulk) return recorder.finish_bulk(record);
  const Conflict conflict = step == CopyStep::kBegin
                                ? recorder.note_write(record, order_.now().as_pending())
                                : recorder.note(record, kind);
  if (conflict.kind != ConflictKind::kNone) [[unlikely]]
    report_conflict(part, kScope, conflict);
}

// Handles accesses to memory other than the running thread's own and the ranges that it may touch.
void AccessChecker::look_elsewhere(const Access& access) {
  if (GlobalBuffer* buffer = buffers_.buffer_at(access.address)) {
    return look_across_ranges(access, *buffer);
  }
  // The thread-local variable through which threads find their own state.
  if (access.address == reinterpret_cast<std::uintptr_t>(&current_thread)) return;
  const ProgramMemory::Range* loaded = program_.find_loaded(access.address);
  if (loaded == nullptr) refuse_place(access, Check::kOutOfBounds, "");
  if (is_write(access.shape.kind)) refuse_place(access, Check::kReadOnly, "");
  constants_ = *loaded;
}

}  // namespace recto::simt
