#pragma once

// Paging in the simplest obviously correct form: a stack of free blocks, a table per sequence, and
// for each block the number of tables that share it. The production block manager is compared with
// it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/allocators/allocator.h"
#include "sim/allocators/free_blocks.h"

namespace recto::sim {

struct PagedOptions {
  TokenCount pool_slots;
  TokenCount block_size{16};
  BlockCount null_blocks{0};  // set apart and never used, as some engines do with block 0
};

class PagedAllocator : public Allocator {
 public:
  explicit PagedAllocator(const PagedOptions& options);

  void open(SequenceId sequence, const SequenceSpec& spec) override;
  void close(SequenceId sequence) override;
  bool can_ever_hold(const Request& request, TokenCount spare) const override;
  Fit fit(std::span<const SequenceId> members, TokenCount length, TokenCount spare) const override;
  TokenCount cached_prefix(SequenceId sequence, TokenCount length) const override;
  std::optional<Growth> admit(std::span<const SequenceId> members, TokenCount length) override;
  std::optional<Growth> grow(SequenceId sequence, TokenCount context, TokenCount length) override;
  bool append_blocks(std::span<const SequenceId> sequences) override;
  Growth share(SequenceId parent, SequenceId child, TokenCount length) override;
  Release release(SequenceId sequence, TokenCount context) override;
  TableShape shape(std::span<const SequenceId> members, TokenCount context) const override;
  bool restore(std::span<const SequenceId> members, const TableShape& shape,
               TokenCount spare) override;
  void commit(SequenceId sequence, TokenCount context) override;
  PoolCounts counts() const override;
  TokenCount block_size() const override { return TokenCount(block_size_); }
  bool is_paged() const override { return true; }
  std::string describe() const override;

  std::span<const BlockId> block_table(SequenceId sequence) const final {
    return holder(sequence).table;
  }
  std::int32_t sharers(BlockId block) const final {
    return sharers_[static_cast<std::size_t>(block.value())];
  }

 protected:
  // The blocks that `take` could provide now, evicting if necessary.
  virtual std::int64_t available() const { return free_.size(); }
  virtual std::int64_t evictable() const { return 0; }

  // Appends `count` blocks without holder or content to `table`. Precondition: they are available.
  virtual void take(std::int64_t count, std::vector<BlockId>& table);
  // Frees blocks whose last holder was one sequence. Blocks at its start should be evicted later
  // than those at its end.
  virtual void drop(std::span<const BlockId> blocks);

  struct Holder {
    SequenceSpec spec;
    std::vector<BlockId> table;
  };
  Holder& holder(SequenceId sequence) {
    return holders_[static_cast<std::size_t>(sequence.value())];
  }
  const Holder& holder(SequenceId sequence) const {
    return holders_[static_cast<std::size_t>(sequence.value())];
  }

  // The number of full blocks in `tokens`. The division is the most expensive part of growing by a
  // token, so powers of two use a shift.
  std::int64_t full_blocks(TokenCount tokens) const {
    return shift_ >= 0 ? tokens.value() >> shift_ : tokens.value() / block_size_;
  }
  std::int64_t blocks_for(TokenCount tokens) const {
    return full_blocks(tokens + TokenCount(block_size_ - 1));
  }
  std::int64_t slots(std::int64_t blocks) const { return blocks * block_size_; }
  // The blocks that the members after the first need for themselves, up to `length`.
  std::int64_t own_blocks_of_others(std::span<const SequenceId> members, TokenCount length) const;
  // Adds a table entry for a block that already has a holder.
  void share_block(std::vector<BlockId>& table, BlockId block);

  FreeBlocks free_;

 private:
  void keep_shared_entries(std::vector<BlockId>& table, TokenCount context, Release& release);
  void stop_sharing(BlockId block);
  void reserve_table(SequenceId sequence);
  bool shares_tail(const Holder& holder, TokenCount context) const;

  std::int64_t pool_slots_;
  std::int64_t block_size_;
  int shift_;  // for block sizes that are powers of two; else -1
  std::int64_t total_blocks_;
  std::int64_t null_blocks_;
  std::vector<std::int32_t> sharers_;  // [total_blocks]
  std::int64_t shared_entries_ = 0;    // sum of sharers_
  std::vector<Holder> holders_;        // by SequenceId
  std::vector<BlockId> fresh_;         // scratch
};

}  // namespace recto::sim
