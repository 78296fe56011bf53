#pragma once

// A block manager as one writes it on an afternoon: a deque of free ids, an unordered map of
// hashes, a vector for each sequence's table. It is what the real one's speed is compared with, and
// gives the same answers as that one's default group: free blocks first, then the least recently
// used, ends of sequences before their starts. It trusts hashes, keeps no accounts, and an append
// that finds no block leaves those before it done.

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "cuda/cache/block_hash.h"

namespace recto::cache::testing {

class PlainManager {
 public:
  struct Copy {
    std::int32_t source = 0;
    std::int32_t destination = 0;
  };

  // With a window, what its newest row does not see is given back as a sequence grows; such ones
  // are not cut back, forked or published.
  PlainManager(std::int32_t num_blocks, std::int64_t block_size,
               std::optional<std::int64_t> window = {});

  // A block that is held once, or none if all are held.
  std::optional<std::int32_t> allocate();
  // One holder fewer.
  void give_back(std::int32_t block);

  // A new sequence with the longest cached prefix, and blocks for the rest; none without room.
  std::optional<std::int32_t> admit(std::span<const TokenId> ids);
  // Some tokens more for one, or one more for each; false if a block is missing.
  bool append(std::int32_t sequence, std::int64_t count);
  bool append(std::span<const std::int32_t> sequences);
  // The sequence's full blocks can be found from now on. `ids` begin with its context.
  void commit(std::int32_t sequence, std::span<const TokenId> ids);
  std::int32_t fork(std::int32_t parent);
  void truncate(std::int32_t sequence, std::int64_t length);
  void release(std::int32_t sequence);
  void reset_prefix_cache();

  // Rows of `columns` entries, one for each sequence, written as a whole; -1 where there is none.
  void write_tables(std::span<const std::int32_t> sequences, std::int64_t columns,
                    std::span<std::int32_t> buffer) const;

  std::int64_t context_length(std::int32_t sequence) const {
    return sequences_.at(sequence).length;
  }
  const std::vector<std::int32_t>& table(std::int32_t sequence) const {
    return sequences_.at(sequence).table;
  }
  const std::vector<Copy>& copies() const { return copies_; }  // of the last append
  std::int64_t available() const { return available_; }

 private:
  struct Block {
    std::int32_t holders = 0;
    std::uint32_t times_freed = 0;
    std::optional<std::uint64_t> hash = {};
  };
  // An entry of the queue is good while the block was not taken since.
  struct Free {
    std::int32_t block = 0;
    std::uint32_t times_freed = 0;
  };
  struct Sequence {
    std::vector<std::int32_t> table = {};
    std::vector<std::uint64_t> hashes = {};  // of its full blocks, as far as they are known
    std::int64_t committed = 0;              // leading blocks that were told to the cache
    std::int64_t first = 0;                  // blocks before it were given back
    std::int64_t length = 0;
  };

  Block& at(std::int32_t block) { return blocks_[static_cast<std::size_t>(block)]; }
  void hold(std::int32_t block);
  void forget(Block& block);
  bool append_one(Sequence& sequence);
  void leave_window(Sequence& sequence);
  void hash_blocks(Sequence& sequence, std::span<const TokenId> ids, std::int64_t blocks) const;

  std::int64_t block_size_;
  std::optional<std::int64_t> window_;
  std::int64_t available_;
  std::int32_t next_sequence_ = 0;
  BlockHasher hasher_;
  std::vector<Block> blocks_;
  std::deque<Free> free_;
  std::unordered_map<std::uint64_t, std::int32_t> cached_;
  std::unordered_map<std::int32_t, Sequence> sequences_;
  std::vector<Copy> copies_;
};

}  // namespace recto::cache::testing
