#include "cuda/cache/growth.h"

#include <algorithm>
#include <string>

namespace recto::cache {
namespace {

// Visits the blocks that no row of a growing sequence from its context on can see.
template <typename Visit>
void visit_unseen(const CacheCore& core, std::int32_t sequence, const Visit& visit) {
  const std::int64_t length = core.sequences[sequence].device.length;
  for (const std::int32_t group : core.geometry.window_groups()) {
    const std::int64_t end = core.geometry.first_needed(group, length);
    for (std::int64_t block = core.device.tables().first(sequence, group); block < end; ++block) {
      visit(core.device.block({sequence, group, block}));
    }
  }
}

// Gives these blocks back, all at once.
void drop_unseen(CacheCore& core, std::int32_t sequence) {
  const std::int64_t length = core.sequences[sequence].device.length;
  for (const std::int32_t group : core.geometry.window_groups()) {
    const std::int64_t first = core.device.tables().first(sequence, group);
    const std::int64_t end = core.geometry.first_needed(group, length);
    core.device.drop_before(sequence, group, end);
    core.log.add(sequence, first, end);
  }
}

// Makes the block in which the context ends the sequence's own.
void own_tail(CacheCore& core, std::int32_t sequence, std::int64_t& num_copies) {
  const std::int64_t length = core.sequences[sequence].device.length;
  if (core.geometry.is_aligned(length)) return;
  const std::int64_t tail = core.geometry.full_blocks(length);
  const std::int64_t copies_before = num_copies;
  for (std::int32_t group = 0; group < core.geometry.num_groups(); ++group) {
    const TablePlace place{sequence, group, tail};
    if (core.device.is_writable(place)) continue;
    const BlockId shared = core.device.block(place);
    if (core.device.pool().is_exclusive(shared)) {
      core.forget(shared);
      continue;
    }
    core.device.drop(place);
    core.scratch.copies[num_copies++] = {
        .group = group,
        .source = shared,
        .destination = core.take(place),
        .slots = TokenCount(length - core.geometry.slots_of(tail).begin)};
  }
  if (num_copies > copies_before) core.log.add(sequence, tail, tail + 1);
}

// Raises the context lengths of running sequences, which must have room for it.
void take_up(CacheCore& core, std::span<const GrowthRequest> requests) {
  for (const GrowthRequest& request : requests) {
    core.device.grow(request.sequence, request.length);
    core.refresh_run(request.sequence);
  }
}

Status check_length(const CacheCore& core, std::int64_t length, std::int64_t more) {
  const std::int64_t most = core.geometry.max_tokens();
  if (more >= 0 && more <= most - length) return Status::ok();
  return Status::invalid_input("context of " + std::to_string(length) + " tokens and " +
                               std::to_string(more) + " more; expected 0 to " +
                               std::to_string(most - length) + ", up to the " +
                               std::to_string(most) + " of a block table");
}

// Appends a token to each of many sequences. A sequence inside a run takes it at once, and gives it
// back if there is no room for the others.
class BatchAppend {
 public:
  BatchAppend(CacheCore& core, std::span<const SequenceHandle> handles)
      : core_(&core), handles_(handles), mark_(core.sequences.next_mark()) {}

  // Invalid input for a sequence that can't be appended to, or occurs twice.
  Status begin() {
    // Locals, so that they stay in registers: the compiler can't know that they do not change.
    const std::span<Sequence> sequences = core_->sequences.all();
    const std::uint32_t mark = mark_;
    for (std::size_t begun = 0; begun < handles_.size(); ++begun) {
      const SequenceHandle handle = handles_[begun];
      if (static_cast<std::uint32_t>(handle.index) < sequences.size()) [[likely]] {
        Sequence& mine = sequences[static_cast<std::size_t>(handle.index)];
        const bool is_in_run =
            mine.generation == handle.generation && mine.device.length < mine.run_end;
        if (is_in_run && mine.mark != mark) [[likely]] {
          mine.mark = mark;
          ++mine.device.length;
          continue;
        }
      }
      num_begun_ = begun;
      RECTO_RETURN_IF_ERROR(add_request(handle));
    }
    num_begun_ = handles_.size();
    return Status::ok();
  }
  // The sequences that need more than a raised length, with their lengths after the token.
  std::span<const GrowthRequest> requests() const {
    return core_->scratch.requests.first(num_requests_);
  }

  void undo() {
    std::int64_t request = 0;
    for (const SequenceHandle& handle : handles_.first(num_begun_)) {
      if (is_request(handle, request)) {
        ++request;
      } else {
        --core_->sequences[handle.index].device.length;
      }
    }
  }

  // Call if there is room for the requests.
  void finish() {
    count_runs();
    take_up(*core_, requests());
  }

 private:
  void count_runs() {
    if (core_->geometry.num_levels() == 1) {
      core_->device.count_run(0, std::ssize(handles_) - num_requests_);
      return;
    }
    std::int64_t request = 0;
    std::int32_t level = 0;
    std::int64_t tokens = 0;
    for (const SequenceHandle& handle : handles_) {
      if (is_request(handle, request)) {
        ++request;
      } else if (core_->sequences[handle.index].level == level) {
        ++tokens;
      } else {
        core_->device.count_run(level, tokens);
        level = core_->sequences[handle.index].level;
        tokens = 1;
      }
    }
    core_->device.count_run(level, tokens);
  }

  // Requests are in the order of the handles.
  bool is_request(SequenceHandle handle, std::int64_t request) const {
    return request < num_requests_ && core_->scratch.requests[request].sequence == handle.index;
  }

  Status add_request(SequenceHandle handle) {
    const Result<std::int32_t> index = core_->sequences.find_running(handle);
    if (!index.is_ok()) return index.status();
    Sequence& mine = core_->sequences[index.value()];
    if (mine.mark == mark_) {
      return Status::invalid_input("sequence " + internal::describe(handle) + " stands twice");
    }
    mine.mark = mark_;
    const Status length = check_length(*core_, mine.device.length, 1);
    if (!length.is_ok()) return length.in("sequence " + internal::describe(handle));
    core_->scratch.requests[num_requests_++] = {.sequence = index.value(),
                                                .length = mine.device.length + 1};
    return Status::ok();
  }

  CacheCore* core_;
  std::span<const SequenceHandle> handles_;
  std::uint32_t mark_;
  std::size_t num_begun_ = 0;
  std::int64_t num_requests_ = 0;
};

}  // namespace

// Blocks are given back first, so that a sequence that remains a block's only holder needs no copy,
// and no source of a copy is allocated again within one result.
GrowthPlan plan_growth(CacheCore& core, std::span<const GrowthRequest> requests) {
  BlockPool& pool = core.device.pool();
  GrowthPlan plan;
  for (const GrowthRequest& request : requests) {
    visit_unseen(core, request.sequence, [&](BlockId block) {
      if (pool.is_exclusive(block)) ++plan.returned;
      pool.pretend_release(block);
    });
  }
  for (const GrowthRequest& request : requests) {
    const TableRow& row = core.sequences[request.sequence].device;
    const std::int64_t blocks = core.geometry.blocks_for(request.length);
    plan.fresh += std::max<std::int64_t>(blocks - row.blocks, 0) * core.geometry.num_groups();
    if (core.geometry.is_aligned(row.length)) continue;
    const std::int64_t tail = core.geometry.full_blocks(row.length);
    for (std::int32_t group = 0; group < core.geometry.num_groups(); ++group) {
      const BlockId block = core.device.block({request.sequence, group, tail});
      if (pool.is_exclusive(block)) continue;
      pool.pretend_release(block);
      core.scratch.copies[plan.copies++].source = block;
    }
  }
  for (const BlockCopy& copy : core.scratch.copies.first(plan.copies)) {
    pool.undo_release(copy.source);
  }
  for (const GrowthRequest& request : requests) {
    visit_unseen(core, request.sequence, [&](BlockId block) { pool.undo_release(block); });
  }
  return plan;
}

bool has_room(const CacheCore& core, const GrowthPlan& plan) {
  return plan.fresh + plan.copies <= core.device.pool().available().value() + plan.returned;
}

Status check_room(const CacheCore& core, const GrowthPlan& plan) {
  if (has_room(core, plan)) return Status::ok();
  const BlockPool& pool = core.device.pool();
  return Status::exhausted("needs " + std::to_string(plan.fresh) + " new blocks and " +
                           std::to_string(plan.copies) + " for copies, and gives " +
                           std::to_string(plan.returned) + " back; there are " +
                           std::to_string(pool.free().value()) + " free and " +
                           std::to_string(pool.evictable().value()) + " evictable");
}

Result<std::span<const BlockCopy>> make_room(CacheCore& core,
                                             std::span<const GrowthRequest> requests) {
  RECTO_RETURN_IF_ERROR(check_room(core, plan_growth(core, requests)));
  for (const GrowthRequest& request : requests) drop_unseen(core, request.sequence);
  std::int64_t num_copies = 0;
  for (const GrowthRequest& request : requests) {
    own_tail(core, request.sequence, num_copies);
    const std::int64_t held = core.sequences[request.sequence].device.blocks;
    const std::int64_t blocks = core.geometry.blocks_for(request.length);
    core.take_until(request.sequence, blocks);
    core.log.add(request.sequence, held, blocks);
  }
  return std::span<const BlockCopy>(core.scratch.copies.first(num_copies));
}

Result<std::span<const BlockCopy>> reserve(CacheCore& core, SequenceHandle sequence,
                                           TokenCount length) {
  const Result<std::int32_t> index = core.sequences.find_running(sequence);
  if (!index.is_ok()) return index.status();
  const std::int64_t most = core.geometry.max_tokens();
  if (length.value() < 0 || length.value() > most) {
    return Status::invalid_input("length " + std::to_string(length.value()) +
                                 "; expected 0 to the " + std::to_string(most) +
                                 " of a block table");
  }
  const Sequence& mine = core.sequences[index.value()];
  const bool is_there = length.value() <= std::max(mine.device.length, mine.run_end);
  if (is_there) return std::span<const BlockCopy>();
  const GrowthRequest request{.sequence = index.value(), .length = length.value()};
  Result<std::span<const BlockCopy>> copies = make_room(core, {&request, 1});
  if (copies.is_ok()) core.refresh_run(index.value());
  return copies;
}

Result<std::span<const BlockCopy>> append(CacheCore& core, SequenceHandle sequence,
                                          TokenCount count) {
  const Result<std::int32_t> index = core.sequences.find_running(sequence);
  if (!index.is_ok()) return index.status();
  Sequence& mine = core.sequences[index.value()];
  RECTO_RETURN_IF_ERROR(check_length(core, mine.device.length, count.value()));
  const GrowthRequest request{.sequence = index.value(),
                              .length = mine.device.length + count.value()};
  if (request.length <= std::max(mine.device.length, mine.run_end)) {
    core.device.count_run(mine.level, count.value());
    mine.device.length = request.length;
    return std::span<const BlockCopy>();
  }
  Result<std::span<const BlockCopy>> copies = make_room(core, {&request, 1});
  if (copies.is_ok()) take_up(core, {&request, 1});
  return copies;
}

Result<std::span<const BlockCopy>> append(CacheCore& core,
                                          std::span<const SequenceHandle> sequences) {
  BatchAppend batch(core, sequences);
  const Status begun = batch.begin();
  if (!begun.is_ok()) {
    batch.undo();
    return begun;
  }
  if (batch.requests().empty()) {
    batch.finish();
    return std::span<const BlockCopy>();
  }
  Result<std::span<const BlockCopy>> copies = make_room(core, batch.requests());
  copies.is_ok() ? batch.finish() : batch.undo();
  return copies;
}

bool can_append(CacheCore& core, std::span<const SequenceHandle> sequences) {
  BatchAppend batch(core, sequences);
  const bool can = batch.begin().is_ok() && has_room(core, plan_growth(core, batch.requests()));
  batch.undo();
  return can;
}

}  // namespace recto::cache
