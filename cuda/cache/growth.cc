// Growth of sequences: slots for the next tokens, in blocks that are not shared, for all sequences
// or for none.

#include <algorithm>
#include <span>
#include <utility>

#include "cuda/cache/block_manager.h"
#include "cuda/cache/cache_core.h"
#include "cuda/cache/message.h"

namespace recto::cache {
namespace {

// The blocks that growing takes.
struct GrowthPlan {
  std::int64_t fresh = 0;     // for tokens after the last block
  std::int64_t copies = 0;    // in place of shared blocks
  std::int64_t returned = 0;  // given back first, because no row will see them

  bool fits(const BlockPool& pool) const {
    return fresh + copies <= pool.available().value() + returned;
  }
};

// Visits the blocks of a sequence that no row from its context on can see.
template <typename Visit>
void visit_unseen(const CacheCore& core, std::int32_t sequence, const Visit& visit) {
  const std::int64_t length = core.device.row(sequence).length;
  for (const std::int32_t group : core.geometry.window_groups()) {
    const std::int64_t end = core.geometry.first_needed(group, length);
    for (std::int64_t block = core.device.first(sequence, group); block < end; ++block) {
      visit(core.device.block({sequence, group, block}));
    }
  }
}

// Gives these blocks back.
void drop_unseen(CacheCore& core, std::int32_t sequence) {
  const std::int64_t length = core.device.row(sequence).length;
  for (const std::int32_t group : core.geometry.window_groups()) {
    const std::int64_t first = core.device.first(sequence, group);
    const std::int64_t end = core.geometry.first_needed(group, length);
    core.device.drop_before(sequence, group, end);
    core.sequences.log().add(sequence, first, end);
  }
}

// Gives the sequence an unshared block where its context ends, by a copy if necessary.
void own_tail(CacheCore& core, std::int32_t sequence, std::int64_t& num_copies) {
  const std::int64_t length = core.device.row(sequence).length;
  if (core.geometry.is_aligned(length)) return;
  const std::int64_t tail = core.geometry.full_blocks(length);
  const std::int64_t copies_before = num_copies;
  for (std::int32_t group = 0; group < core.geometry.num_groups(); ++group) {
    const TablePlace place{sequence, group, tail};
    if (core.device.is_writable(place)) continue;
    const BlockId shared = core.device.block(place);
    if (core.device.pool().is_exclusive(shared)) {
      core.prefix.forget(shared);
      continue;
    }
    core.device.drop(place);
    core.copies[num_copies++] = {.group = group,
                                 .source = shared,
                                 .destination = core.prefix.take(place),
                                 .slots = TokenCount(length - core.geometry.slots_of(tail).begin)};
  }
  if (num_copies > copies_before) core.sequences.log().add(sequence, tail, tail + 1);
}

Status check_length(const CacheCore& core, std::int64_t length, std::int64_t more) {
  const std::int64_t most = core.geometry.max_tokens();
  if (more >= 0 && more <= most - length) return Status::ok();
  return Status::invalid_input(message("context of ", length, " tokens and ", more,
                                       " more; expected 0 to ", most - length, ", up to the ", most,
                                       " of a block table"));
}

// Preconditions: running sequences, each given once; lengths at most a table's capacity. Changes
// the reference counts in the pool temporarily, and restores them. O(blocks concerned).
//
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
    const TableRow& row = core.device.row(request.sequence);
    const std::int64_t blocks = core.geometry.blocks_for(request.length);
    plan.fresh += std::max<std::int64_t>(blocks - row.blocks, 0) * core.geometry.num_groups();
    if (core.geometry.is_aligned(row.length)) continue;
    const std::int64_t tail = core.geometry.full_blocks(row.length);
    for (std::int32_t group = 0; group < core.geometry.num_groups(); ++group) {
      const BlockId block = core.device.block({request.sequence, group, tail});
      if (pool.is_exclusive(block)) continue;
      pool.pretend_release(block);
      core.copies[plan.copies++].source = block;
    }
  }
  for (const BlockCopy& copy : core.copies.first(plan.copies)) pool.undo_release(copy.source);
  for (const GrowthRequest& request : requests) {
    visit_unseen(core, request.sequence, [&](BlockId block) { pool.undo_release(block); });
  }
  return plan;
}

// Plans, checks, and takes the blocks; context lengths do not change. O(blocks concerned).
Result<std::span<const BlockCopy>> make_room(CacheCore& core,
                                             std::span<const GrowthRequest> requests,
                                             const char* operation) {
  const GrowthPlan plan = plan_growth(core, requests);
  const BlockPool& pool = core.device.pool();
  if (!plan.fits(pool)) {
    return Status::exhausted(message(operation, ": needs ", plan.fresh, " new blocks and ",
                                     plan.copies, " for copies, and gives ", plan.returned,
                                     " back; there are ", pool.free(), " free and ",
                                     pool.evictable(), " evictable"));
  }
  for (const GrowthRequest& request : requests) drop_unseen(core, request.sequence);
  std::int64_t num_copies = 0;
  for (const GrowthRequest& request : requests) {
    own_tail(core, request.sequence, num_copies);
    const std::int64_t held = core.device.row(request.sequence).blocks;
    const std::int64_t blocks = core.geometry.blocks_for(request.length);
    core.prefix.take_until(request.sequence, blocks);
    core.sequences.log().add(request.sequence, held, blocks);
  }
  return std::span<const BlockCopy>(core.copies.first(num_copies));
}

// Appends a token to each of many sequences. A sequence inside a run takes its token at once, and
// gives it back if there is no room for the others.
class BatchAppend {
 public:
  BatchAppend(CacheCore& core, std::span<const SequenceHandle> handles)
      : core_(&core), handles_(handles), mark_(core.sequences.next_mark()) {}

  // Invalid input for a sequence that can't be appended to, or occurs twice.
  Status begin() {
    // Local copies stay in registers: the compiler cannot prove that the originals do not change.
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
  // The sequences that need more than a greater length, with their lengths after the token.
  std::span<const GrowthRequest> requests() const { return core_->requests.first(num_requests_); }

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

  // Precondition: there is room for the requests.
  void finish() {
    count_runs();
    for (const GrowthRequest& request : requests()) {
      core_->device.grow(request.sequence, request.length);
    }
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
        continue;
      }
      const std::int32_t its_level = core_->sequences[handle.index].level;
      if (its_level != level) {
        core_->device.count_run(std::exchange(level, its_level), std::exchange(tokens, 0));
      }
      ++tokens;
    }
    core_->device.count_run(level, tokens);
  }

  // Requests are in the order of the handles.
  bool is_request(SequenceHandle handle, std::int64_t request) const {
    return request < num_requests_ && core_->requests[request].sequence == handle.index;
  }

  Status add_request(SequenceHandle handle) {
    const Result<std::int32_t> index = core_->sequences.find_running(handle);
    if (!index.is_ok()) return index.status();
    Sequence& mine = core_->sequences[index.value()];
    if (std::exchange(mine.mark, mark_) == mark_) {
      return Status::invalid_input(message("sequence ", handle, " stands twice"));
    }
    const Status length = check_length(*core_, mine.device.length, 1);
    if (!length.is_ok()) return length.in(message("sequence ", handle));
    core_->requests[num_requests_++] = {.sequence = index.value(),
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

Result<std::span<const BlockCopy>> BlockManager::reserve(SequenceHandle sequence,
                                                         TokenCount length) {
  const Result<std::int32_t> index = core_->sequences.find_running(sequence);
  if (!index.is_ok()) return index.status().in("reserve");
  const std::int64_t most = core_->geometry.max_tokens();
  if (length.value() < 0 || length.value() > most) {
    return Status::invalid_input(
        message("reserve: length ", length, "; expected 0 to the ", most, " of a block table"));
  }
  const bool is_there = length.value() <= core_->sequences[index.value()].run_end;
  if (is_there) return std::span<const BlockCopy>();
  const GrowthRequest request{.sequence = index.value(), .length = length.value()};
  Result<std::span<const BlockCopy>> copies = make_room(*core_, {&request, 1}, "reserve");
  if (copies.is_ok()) core_->device.refresh_run(index.value());
  return copies;
}

Result<std::span<const BlockCopy>> BlockManager::append(SequenceHandle sequence, TokenCount count) {
  const Result<std::int32_t> index = core_->sequences.find_running(sequence);
  if (!index.is_ok()) return index.status().in("append");
  Sequence& mine = core_->sequences[index.value()];
  const Status is_possible = check_length(*core_, mine.device.length, count.value());
  if (!is_possible.is_ok()) return is_possible.in("append");
  const GrowthRequest request{.sequence = index.value(),
                              .length = mine.device.length + count.value()};
  if (request.length <= mine.run_end) {
    core_->device.count_run(mine.level, count.value());
    mine.device.length = request.length;
    return std::span<const BlockCopy>();
  }
  Result<std::span<const BlockCopy>> copies = make_room(*core_, {&request, 1}, "append");
  if (copies.is_ok()) core_->device.grow(request.sequence, request.length);
  return copies;
}

Result<std::span<const BlockCopy>> BlockManager::append(std::span<const SequenceHandle> sequences) {
  BatchAppend batch(*core_, sequences);
  const Status begun = batch.begin();
  if (!begun.is_ok()) {
    batch.undo();
    return begun.in("append");
  }
  if (batch.requests().empty()) {
    batch.finish();
    return std::span<const BlockCopy>();
  }
  Result<std::span<const BlockCopy>> copies = make_room(*core_, batch.requests(), "append");
  copies.is_ok() ? batch.finish() : batch.undo();
  return copies;
}

bool BlockManager::can_append(std::span<const SequenceHandle> sequences) {
  BatchAppend batch(*core_, sequences);
  const bool can =
      batch.begin().is_ok() && plan_growth(*core_, batch.requests()).fits(core_->device.pool());
  batch.undo();
  return can;
}

}  // namespace recto::cache
