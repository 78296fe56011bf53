#pragma once

// Where the KV slots of sequences live. One interface over contiguous regions and paged blocks,
// so that a scheduler does not know which it drives; verify/ puts the production manager under
// it too. Allocators know addresses, not time; what a slot's state is, PoolAccount knows.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/units.h"
#include "sim/request.h"

namespace recto::sim {

// A sequence in flight; small numbers, used again after `close`.
using SequenceId = Ordinal<struct SequenceIdTag, Quantity<struct SequenceCountTag>, std::int32_t>;

// What does not change over a sequence's life. `request` outlives the sequence.
struct SequenceSpec {
  const Request* request = nullptr;
  std::int32_t member = 0;  // which of the request's sequences
};

enum class Fit : std::uint8_t {
  kFits,
  kShort,   // not enough free slots
  kNoHole,  // enough in sum, but in no one place
};

// What changed when a sequence grew; all in slots.
struct Growth {
  TokenCount held_before{};
  TokenCount held_after{};
  TokenCount requested{};       // contiguous: what was asked for; the rest of held is rounding
  TokenCount revived{};         // came back from the cache with their content
  TokenCount hit{};             // context found in cached blocks, shared or revived
  TokenCount copied{};          // physically copied on the device
  TokenCount copied_context{};  // of these, slots that hold tokens
};

// What a sequence gave back; all in slots.
struct Release {
  TokenCount held{};       // what it held
  TokenCount requested{};  // contiguous: what it had asked for
  TokenCount kept{};       // of these, full of tokens and still held by others
  TokenCount kept_open{};  // beyond the context, in a block that others still hold
};

// All in slots but the last two.
struct PoolCounts {
  TokenCount pool{};
  TokenCount held{};
  TokenCount cached{};
  TokenCount free{};
  TokenCount overhead{};
  TokenCount largest_hole{};       // the longest run that one sequence could be given now
  std::int64_t table_entries = 0;  // logical blocks over all sequences; regions have no tables
  std::int64_t held_blocks = 0;    // physical blocks under them, or regions
};

// How the tables of some sequences share blocks, without the blocks: what a swap to the host must
// remember. Contiguous regions share nothing and have no tables.
struct TableShape {
  TokenCount slots{};                                // that hold the sequences' tokens, each once
  std::vector<std::vector<std::int32_t>> entries{};  // [member][logical block] -> which block
  std::int32_t block_count = 0;
};

class Allocator {
 public:
  virtual ~Allocator() = default;

  virtual void open(SequenceId sequence, const SequenceSpec& spec) = 0;
  virtual void close(SequenceId sequence) = 0;

  // Could these sequences of one request run to their end in an empty pool?
  virtual bool can_ever_hold(const Request& request, TokenCount spare) const = 0;

  // Would `admit` find room for a context of `length` in the first member (the others share or
  // get regions of their own), and leave `spare` slots?
  virtual Fit fit(std::span<const SequenceId> members, TokenCount length,
                  TokenCount spare) const = 0;

  // Tokens of context that `admit` would find cached: whole blocks, fewer than `length`.
  virtual TokenCount cached_prefix(SequenceId sequence, TokenCount length) const = 0;

  // Gives the first member room for `length` tokens (and, where nothing can be shared, every
  // member its region). All or nothing; nullopt changes nothing. O(blocks).
  virtual std::optional<Growth> admit(std::span<const SequenceId> members, TokenCount length) = 0;

  // Room for tokens [context, length), which the sequence alone will write: copies a shared
  // block first. All or nothing. O(new blocks).
  virtual std::optional<Growth> grow(SequenceId sequence, TokenCount context,
                                     TokenCount length) = 0;

  // One more block for each of these sequences, whose blocks are full. All or nothing. Only paged
  // allocators are asked.
  virtual bool append_blocks(std::span<const SequenceId> sequences);

  // The child gets the parent's first `length` tokens: shared where blocks can be, else copied
  // into the child's region. The child holds nothing, or is at context 0 in its region.
  virtual Growth share(SequenceId parent, SequenceId child, TokenCount length) = 0;

  // The sequence holds nothing any more; its spec stays. O(blocks).
  virtual Release release(SequenceId sequence, TokenCount context) = 0;

  // What a swap of these sequences has to move, and how their tables are made up.
  virtual TableShape shape(std::span<const SequenceId> members, TokenCount context) const = 0;

  // These sequences of `context` tokens are on their way to the host: they hold what they hold
  // until each is released. For allocators that have a part in the copying.
  virtual void begin_swap_out(std::span<const SequenceId> members, TokenCount context);

  // Room for a swapped set of sequences, made up as before, with `spare` slots left; none of
  // them holds anything. All or nothing. O(blocks).
  virtual bool restore(std::span<const SequenceId> members, const TableShape& shape,
                       TokenCount spare) = 0;

  // What `restore` gave room for is copied: each has its `context` tokens again.
  virtual void finish_restore(std::span<const SequenceId> members, TokenCount context);

  // Tokens below `context` are computed: full blocks may be found by others from now on.
  virtual void commit(SequenceId sequence, TokenCount context) = 0;

  // O(1); of buddies O(log pool), which is what it takes to find their largest hole.
  virtual PoolCounts counts() const = 0;

  virtual TokenCount block_size() const = 0;  // 1 for contiguous regions
  // May sequences of different requests share blocks?
  virtual bool reuses_prefixes() const { return false; }
  // Paged: sequences grow block by block and may share blocks. Otherwise each has one region.
  virtual bool is_paged() const = 0;
  virtual std::string describe() const = 0;
};

}  // namespace recto::sim
