#pragma once

// A straightforward block manager: a deque of free ids, an unordered map of hashes, a vector for
// each sequence's table. It is the baseline for the real manager's speed, and gives the same
// answers as that one's default group: free blocks first, then the least recently used, ends of
// sequences before their starts. It trusts hashes, keeps no accounts, and an append that fails for
// lack of a block leaves earlier ones done.

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

  // With a window, a growing sequence gives back blocks that its newest row does not see. Such
  // sequences are not truncated, forked or published.
  PlainManager(std::int32_t num_blocks, std::int64_t block_size,
               std::optional<std::int64_t> window = {});

  // Returns a block that is held once; nullopt if all are held.
  std::optional<std::int32_t> allocate();
  // Removes one holder.
  void give_back(std::int32_t block);

  // Returns a new sequence with the longest cached prefix and blocks for the rest; nullopt without
  // room.
  std::optional<std::int32_t> admit(std::span<const TokenId> ids);
  // Appends `count` tokens to one sequence, or one token to each; false if a block is missing.
  bool append(std::int32_t sequence, std::int64_t count);
  bool append(std::span<const std::int32_t> sequences);
  // From now on, the sequence's full blocks can be found. `ids` begin with its context.
  void commit(std::int32_t sequence, std::span<const TokenId> ids);
  std::int32_t fork(std::int32_t parent);
  void truncate(std::int32_t sequence, std::int64_t length);
  void release(std::int32_t sequence);
  void reset_prefix_cache();

  // Writes whole rows of `columns` entries, one row per sequence; -1 where there is no block.
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
  // An entry of the queue is valid as long as the block has not been allocated since.
  struct Free {
    std::int32_t block = 0;
    std::uint32_t times_freed = 0;
  };
  struct Sequence {
    std::vector<std::int32_t> table = {};
    std::vector<std::uint64_t> hashes = {};  // of its full blocks, as far as computed
    std::int64_t committed = 0;              // leading blocks that are in the cache
    std::int64_t first = 0;                  // blocks before it have been given back
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
