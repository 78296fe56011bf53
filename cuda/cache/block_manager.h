#pragma once

// Which physical blocks of a paged KV cache hold which tokens of which sequence: what a serving
// engine asks before each step. Host memory only; K and V themselves are moved by who asks, as the
// answers say.
//
//   CacheOptions options;
//   options.num_blocks = BlockCount(8);
//   options.block_size = TokenCount(4);
//   options.max_blocks_per_sequence = BlockCount(4);
//   BlockManager manager = BlockManager::create(options).value();
//
//   // A prompt comes: what of it is cached is not computed again.
//   std::vector<TokenId> tokens = {1, 2, 3, 4, 5, 6};
//   const Prompt prompt{.tokens = {.ids = tokens, .items = {}}, .keys = {}};
//   const Admission admitted = manager.admit(prompt).value();
//   const TokenCount to_compute(6 - admitted.hit.value());
//   manager.append(admitted.sequence, to_compute).value();  // copies to make first, if any
//   // ... write K and V of the prompt, then say so: others may find them from now on.
//   Status status = manager.commit(admitted.sequence, prompt.tokens);
//
//   // Each step of generation: room for one token each, for all or for none.
//   const std::vector<SequenceHandle> batch = {admitted.sequence};
//   const std::span<const BlockCopy> copies = manager.append(batch).value();
//   for (const BlockCopy& copy : copies) copy_block(copy);
//   status = manager.release(admitted.sequence);
//
// Lengths. `context_length` counts the tokens whose K and V are in the cache, this step's included:
// append raises it before they are written. `capacity` counts the slots that the table has for
// them. `published` counts the leading blocks that are in the prefix cache.
//
// Failure. Every operation that can't be done returns a status and changes nothing at all: invalid
// input for misuse (an unknown or released handle, a length that can't be, a sequence that is not
// running), exhausted where there is not enough (what was needed, and what there was). Success
// allocates nothing on the heap; messages of failures do.
//
// Spans that are returned are valid until the next call of a non-const member.
//
// Threads: const members may be called by many threads while none calls another member. Managers
// are independent.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/block_pool.h"
#include "cuda/cache/cache_memory.h"
#include "cuda/cache/cache_options.h"
#include "cuda/cache/cache_states.h"
#include "cuda/cache/cache_statistics.h"
#include "cuda/cache/handle.h"
#include "cuda/cache/prompt.h"

namespace recto::cache {

struct CacheCore;

enum class SequenceState : std::uint8_t {
  kRunning,
  kPreempted,    // holds nothing; to be resumed
  kSwappingOut,  // its blocks are being copied to the host
  kSwapped,      // in the host pool
  kSwappingIn,   // its blocks are being copied back
};

// "running", "being swapped out", ...
const char* sequence_state_name(SequenceState state);

struct Admission {
  SequenceHandle sequence = {};
  TokenCount hit{};  // leading tokens that were found cached; its context length
};

// K and V of the first `slots` slots of a block, in all layers of a group, to be copied before this
// step's are written. In one answer no destination stands twice, and no source is a destination, so
// that they are made in any order, or at once; those of a later answer after those of an earlier
// one, as what was copied from may have been given away between the two.
struct BlockCopy {
  std::int32_t group = 0;
  BlockId source{};
  BlockId destination{};
  TokenCount slots{};
};

// One block of a group that goes to the host or comes back, whole.
struct SwapCopy {
  std::int32_t group = 0;
  BlockId device{};
  BlockId host{};
};

struct Transfer {
  TransferHandle handle = {};
  std::span<const SwapCopy> copies = {};
};

struct Pin {
  PinHandle handle = {};
  TokenCount length{};  // leading tokens that are pinned
};

struct SequenceView {
  SequenceState state = SequenceState::kRunning;
  TokenCount context_length{};
  TokenCount capacity{};
  BlockCount published{};
};

class BlockManager {
 public:
  // Invalid input as check_options says; exhausted if there is no memory for the tables.
  // O(num_blocks + host_blocks + max_nodes + max_sequences * groups).
  static Result<BlockManager> create(const CacheOptions& options);
  // What was moved from may be assigned to and destroyed, nothing else.
  BlockManager(BlockManager&&) noexcept;
  BlockManager& operator=(BlockManager&&) noexcept;
  ~BlockManager();

  // ---- A sequence comes. With n blocks of prompt in g groups: O(n g) and hashing the prompt up to
  // the first miss.

  // A new sequence that has the longest cached prefix of the prompt, in whole blocks, at most
  // floor((length - 1) / block_size) of them: its last token is always left to be computed, and no
  // shared block is written into. Its capacity covers `room` tokens (default: the prompt), and the
  // prefix if that is more. Exhausted without a free sequence, or if fewer than `watermark` blocks
  // would stay available.
  Result<Admission> admit(const Prompt& prompt, std::optional<TokenCount> room = {});
  // Whether `admit` would succeed now.
  bool can_admit(const Prompt& prompt, std::optional<TokenCount> room = {}) const;
  // The tokens that `admit` would find cached now; 0 of a prompt that it refuses.
  TokenCount cached_prefix(const Prompt& prompt) const;
  // The hashes of the prompt's first whole blocks, for as many as there is room in `hashes`, to be
  // kept with it as Prompt::hashes: who asks about a prompt again and again hashes it once. Those
  // that it has already are taken over, so that a prompt that grew is hashed where it is new.
  // Returns how many: it ends before a block with too many items, and without a prefix cache at
  // once. Invalid input for items that can't be. O(tokens).
  Result<std::int64_t> hash_prompt(const Prompt& prompt, std::span<BlockHash> hashes) const;

  // ---- It grows. O(new blocks * groups); one token inside a block costs no more than a few
  // comparisons. In groups with a window, blocks that no row from the context on can see are given
  // back first; so much of the context can't be truncated away any more.

  // Slots for tokens [context, length), for this sequence to write: lookahead, or a chunk of the
  // prompt. Nothing to do if the context is not shorter. Copies where others see the block that the
  // context ends in.
  Result<std::span<const BlockCopy>> reserve(SequenceHandle sequence, TokenCount length);
  // The same for `count` more tokens, which belong to the context from now on.
  Result<std::span<const BlockCopy>> append(SequenceHandle sequence, TokenCount count);
  // One token for each of these, or for none. Invalid input if one stands twice.
  Result<std::span<const BlockCopy>> append(std::span<const SequenceHandle> sequences);
  // Whether that `append` would succeed now. Changes nothing, but plans in memory that is not to be
  // shared between threads.
  bool can_append(std::span<const SequenceHandle> sequences);

  // K and V of these tokens, the context's (and maybe more), are computed: its full blocks can be
  // found from now on. Of two blocks with the same content the first stays the one that is found.
  // That K and V belong to these ids is the caller's word; blocks that it published before keep the
  // ids that they had.
  // A sequence that was alive at a reset publishes no more. O(new full blocks * groups) and hashing
  // them. Invalid input if there are fewer ids than context, or items that can't be.
  Status commit(SequenceHandle sequence, const Tokens& tokens);

  // ---- It branches. O(blocks * groups); no block is needed, and none is copied before somebody
  // writes.

  // A sequence with the same context, in the same blocks. Lookahead stays with the parent.
  Result<SequenceHandle> fork(SequenceHandle parent);
  // New beams from old ones: beam i continues parents[parent_of[i]]. The first child of a parent
  // takes its place and its handle, parents without a child are released. Handles in the order of
  // `parent_of`.
  Result<std::span<const SequenceHandle>> beam_step(std::span<const SequenceHandle> parents,
                                                    std::span<const std::int32_t> parent_of);

  // ---- It gives back. O(blocks given back * groups).

  // The context ends at `length` again; all blocks behind are given back, lookahead as well. May go
  // below what is cached or shared. Invalid input beyond the context, or where a window group gave
  // back what the next row would see.
  Status truncate(SequenceHandle sequence, TokenCount length);
  // The handle is no good any more. What is cached can be evicted, its end before its start. Of a
  // sequence whose blocks are on the move, they stay until `complete`.
  Status release(SequenceHandle sequence);
  // Gives all back and keeps the handle, to be computed again after `resume`.
  Status preempt(SequenceHandle sequence);
  // As admit, for a sequence that was preempted. Returns the tokens found cached.
  Result<TokenCount> resume(SequenceHandle sequence, const Prompt& prompt,
                            std::optional<TokenCount> room = {});
  bool can_resume(SequenceHandle sequence, const Prompt& prompt,
                  std::optional<TokenCount> room = {}) const;

  // ---- It waits in host memory. O(blocks * groups). Between the call and `complete` a sequence
  // can only be looked at or released, and its blocks are held on both sides.

  // Running sequences go to the host pool; a block that several of them share goes once, and is
  // shared again when they come back together. Lookahead and what is out of a window is given back
  // at once.
  Result<Transfer> swap_out(std::span<const SequenceHandle> sequences);
  bool can_swap_out(std::span<const SequenceHandle> sequences) const;
  // They come back, with capacity for `lookahead` tokens beyond the context. With any, each
  // gets a block of its own where its context ends, so that so many can be appended. Exhausted if
  // fewer than `watermark` blocks would stay available.
  Result<Transfer> swap_in(std::span<const SequenceHandle> sequences,
                           TokenCount lookahead = TokenCount(0));
  bool can_swap_in(std::span<const SequenceHandle> sequences,
                   TokenCount lookahead = TokenCount(0)) const;
  // The copies of a transfer are made: the source's blocks are given back.
  Status complete(TransferHandle transfer);

  // ---- The prefix cache.

  // Keeps the longest cached prefix of these tokens, in whole blocks, from being evicted. Invalid
  // input if nothing of it is cached; exhausted without a free pin. O(blocks * groups).
  Result<Pin> pin(const Prompt& prompt);
  Status unpin(PinHandle pin);
  // Forgets all content, pins as well, as after a change of weights. Sequences go on with what they
  // hold. O(nodes * groups + sequences).
  void reset_prefix_cache();

  // ---- Looking at it. O(1), all of them; `states` and the like O(groups).

  Result<SequenceView> view(SequenceHandle sequence) const;
  // Physical blocks by logical index, kNoBlock where a window group gave one back: the device's, or
  // of a sequence that is swapped or comes back none.
  Result<std::span<const BlockId>> block_table(SequenceHandle sequence, std::int32_t group) const;

  BlockCount available_blocks() const;  // free and evictable
  std::int32_t num_sequences() const;   // alive, and released ones on the move
  PoolStates states() const;
  GroupStates group_states(std::int32_t group) const;  // group is one of the options'
  PoolStates host_states() const;
  const CacheStatistics& statistics() const;
  CacheMemory memory() const;
  const CacheOptions& options() const;

  // The parts that it is made of, for checks and for the tables of a batch.
  const CacheCore& core() const { return *core_; }

 private:
  explicit BlockManager(std::unique_ptr<CacheCore> core);

  std::unique_ptr<CacheCore> core_;
};

}  // namespace recto::cache
