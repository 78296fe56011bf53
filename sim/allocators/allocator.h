#pragma once

// Allocators decide where the KV slots of sequences are. One interface covers contiguous regions
// and paged blocks, so that a scheduler need not know which kind it drives; verify/ also adapts the
// production manager to it. Allocators know addresses, not time; PoolAccount knows the state of
// each slot.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/units.h"
#include "sim/request.h"

namespace recto::sim {

// A sequence in flight; small numbers, reused after `close`.
using SequenceId = Ordinal<struct SequenceIdTag, Quantity<struct SequenceCountTag>, std::int32_t>;

// The constant properties of a sequence. `request` must outlive the sequence.
struct SequenceSpec {
  const Request* request = nullptr;
  std::int32_t member = 0;  // index of the sequence in its request
};

// Consecutive slots [begin, begin + size) of a contiguous pool.
struct Region {
  std::int64_t begin = 0;
  std::int64_t size = 0;

  friend bool operator==(const Region&, const Region&) = default;
};

enum class Fit : std::uint8_t {
  kFits,
  kShort,   // not enough free slots
  kNoHole,  // enough in total, but not contiguous
};

// What changed when a sequence grew, in slots.
struct Growth {
  TokenCount held_before{};
  TokenCount held_after{};
  TokenCount requested{};       // contiguous: requested slots; the rest of held is rounding
  TokenCount revived{};         // taken from the cache with their content
  TokenCount hit{};             // context found in cached blocks, shared or revived
  TokenCount copied{};          // physically copied on the device
  TokenCount copied_context{};  // copied slots that hold tokens
};

// What a sequence released, in slots.
struct Release {
  TokenCount held{};       // slots that the sequence held
  TokenCount requested{};  // contiguous: requested slots
  TokenCount kept{};       // full of tokens and still held by other sequences
  TokenCount kept_open{};  // beyond the context, in a block that other sequences still hold
};

// All in slots, except for the last two.
struct PoolCounts {
  TokenCount pool{};
  TokenCount held{};
  TokenCount cached{};
  TokenCount free{};
  TokenCount overhead{};
  TokenCount largest_hole{};       // longest run that one sequence could get now
  std::int64_t table_entries = 0;  // logical blocks over all sequences; regions have no tables
  std::int64_t held_blocks = 0;    // physical blocks in these tables, or regions
};

// How the block tables of some sequences share blocks, without block ids: what must be kept across
// a swap to the host. Contiguous regions share nothing and have no tables.
struct TableShape {
  TokenCount slots{};                                // that hold the sequences' tokens, each once
  std::vector<std::vector<std::int32_t>> entries{};  // [member][logical block] -> block index
  std::int32_t block_count = 0;
};

class Allocator {
 public:
  virtual ~Allocator() = default;

  virtual void open(SequenceId sequence, const SequenceSpec& spec) = 0;
  virtual void close(SequenceId sequence) = 0;

  // Returns whether all sequences of the request could run to completion in an empty pool.
  virtual bool can_ever_hold(const Request& request, TokenCount spare) const = 0;

  // Returns whether `admit` would find room for a context of `length` in the first member (the
  // others share it or get their own regions) and leave `spare` slots free.
  virtual Fit fit(std::span<const SequenceId> members, TokenCount length,
                  TokenCount spare) const = 0;

  // Tokens of context that `admit` would find cached: whole blocks, and fewer than `length` tokens.
  virtual TokenCount cached_prefix(SequenceId sequence, TokenCount length) const = 0;

  // Gives the first member room for `length` tokens; where nothing can be shared, every member gets
  // its own region. All or nothing: on nullopt, nothing has changed. O(blocks).
  virtual std::optional<Growth> admit(std::span<const SequenceId> members, TokenCount length) = 0;

  // Allocates room for tokens [context, length), which only this sequence will write. Copies a
  // shared block first. All or nothing. O(new blocks).
  virtual std::optional<Growth> grow(SequenceId sequence, TokenCount context,
                                     TokenCount length) = 0;

  // Appends one block to each of these sequences, whose blocks must be full. All or nothing. Only
  // called on paged allocators.
  virtual bool append_blocks(std::span<const SequenceId> sequences);

  // Gives the child the parent's first `length` tokens: shared if there are blocks to share, else
  // copied into the child's region. The child must hold nothing, or have context 0 in its region.
  virtual Growth share(SequenceId parent, SequenceId child, TokenCount length) = 0;

  // Releases all slots that the sequence holds; its spec stays. O(blocks).
  virtual Release release(SequenceId sequence, TokenCount context) = 0;

  // Returns how many slots a swap of these sequences moves, and how their tables share blocks.
  virtual TableShape shape(std::span<const SequenceId> members, TokenCount context) const = 0;

  // Announces that these sequences of `context` tokens are being swapped to the host. They keep
  // their slots until each is released. For allocators that take part in the copying.
  virtual void begin_swap_out(std::span<const SequenceId> members, TokenCount context);

  // Allocates room for a swapped set of sequences, sharing blocks as before, and leaves `spare`
  // slots free; none of them may hold anything. All or nothing. O(blocks).
  virtual bool restore(std::span<const SequenceId> members, const TableShape& shape,
                       TokenCount spare) = 0;

  // Announces that the copies into the restored room are done: each sequence has its `context`
  // tokens again.
  virtual void finish_restore(std::span<const SequenceId> members, TokenCount context);

  // Announces that tokens below `context` are computed: from now on, other sequences may find their
  // full blocks.
  virtual void commit(SequenceId sequence, TokenCount context) = 0;

  // O(1); O(log pool) for buddy placement, to find its largest hole.
  virtual PoolCounts counts() const = 0;

  // Paged: the ids of the blocks that an opened sequence holds, in logical order. Valid until the
  // next call of a function that is not const. Empty for contiguous allocators. O(1).
  virtual std::span<const BlockId> block_table(SequenceId sequence) const;
  // Contiguous: the slots that an opened sequence holds; size 0 while it holds none, and for paged
  // allocators. O(1).
  virtual Region region(SequenceId sequence) const;

  // Paged, O(1): the number of table entries that name the block, minus one; whether its content
  // can be found by its tokens, held or not; the same, and no sequence holds it.
  virtual std::int32_t sharers(BlockId block) const;
  virtual bool is_cached(BlockId block) const;
  virtual bool is_evictable(BlockId block) const;

  virtual TokenCount block_size() const = 0;  // 1 for contiguous regions
  // Returns whether sequences of different requests may share blocks.
  virtual bool reuses_prefixes() const { return false; }
  // If true, sequences grow block by block and may share blocks. Otherwise each has one region.
  virtual bool is_paged() const = 0;
  virtual std::string describe() const = 0;
};

}  // namespace recto::sim
