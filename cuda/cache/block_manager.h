#pragma once

// The KV block manager of a serving engine: decides which physical blocks of a paged KV cache hold
// which tokens of which sequence. The engine calls it before each step. It uses host memory only; K
// and V themselves are moved by the caller, as the results say.
//
//   CacheOptions options;
//   options.num_blocks = BlockCount(8);
//   options.block_size = TokenCount(4);
//   options.max_blocks_per_sequence = BlockCount(4);
//   BlockManager manager = BlockManager::create(options).value();
//
//   // A prompt arrives: its cached prefix is not computed again.
//   std::vector<TokenId> tokens = {1, 2, 3, 4, 5, 6};
//   const Prompt prompt{.tokens = {.ids = tokens, .items = {}}, .keys = {}};
//   const Admission admitted = manager.admit(prompt).value();
//   const TokenCount to_compute(6 - admitted.hit.value());
//   manager.append(admitted.sequence, to_compute).value();  // copies to make first, if any
//   // ... write K and V of the prompt, then commit: others may find them from now on.
//   Status status = manager.commit(admitted.sequence, prompt.tokens);
//
//   // Each decode step: room for one token per sequence, for all or for none.
//   const std::vector<SequenceHandle> batch = {admitted.sequence};
//   const std::span<const BlockCopy> copies = manager.append(batch).value();
//   for (const BlockCopy& copy : copies) copy_block(copy);
//   status = manager.release(admitted.sequence);
//
// Lengths. `context_length` counts the tokens whose K and V are in the cache, including this
// step's: append raises it before they are written. `capacity` counts the slots that the table has
// for tokens. `published` counts the leading blocks that are in the prefix cache.
//
// Failure. A refused operation returns a status and changes nothing: invalid input for misuse (an
// unknown or released handle, an impossible length, a sequence that is not running); exhausted if
// something runs out (the message says what was needed and what was available). Success allocates
// nothing on the heap; messages of failures do.
//
// Returned spans are valid until the next call of a non-const member.
//
// Threads: many threads may call const members at the same time, as long as none calls a non-const
// member. Managers are independent of each other.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/block_pool.h"
#include "cuda/cache/cache_options.h"
#include "cuda/cache/cache_reports.h"
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
  TokenCount hit{};  // leading tokens found cached; the sequence's context length
};

// A copy of K and V in the first `slots` slots of a block, in all layers of a group, to be made
// before the K and V of this step are written. Within one result no destination occurs twice and no
// source is also a destination, so its copies may be made in any order, or all at once. Make the
// copies of a result before those of a later one: the source of an earlier copy may have been
// reallocated since.
struct BlockCopy {
  std::int32_t group = 0;
  BlockId source{};
  BlockId destination{};
  TokenCount slots{};
};

// A copy of one whole block of a group to the host or back.
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

struct BlockView {
  BlockState state = BlockState::kFree;
  std::int32_t holders = 0;  // table entries
  bool is_cached = false;    // its content can be found by its tokens, held or not
  bool is_pinned = false;    // its content is protected from eviction, held or not
  bool is_uneven = false;    // its holders may use different slots of it
};

struct SequenceView {
  SequenceState state = SequenceState::kRunning;
  TokenCount context_length{};
  TokenCount capacity{};
  BlockCount published{};
};

class BlockManager {
 public:
  // Invalid input if check_options fails; exhausted if there is no memory for the tables.
  // O(num_blocks + host_blocks + max_nodes + max_sequences * groups).
  static Result<BlockManager> create(const CacheOptions& options);
  // A moved-from manager may only be assigned to or destroyed.
  BlockManager(BlockManager&&) noexcept;
  BlockManager& operator=(BlockManager&&) noexcept;
  ~BlockManager();

  // ---- Admission. For n blocks of prompt in g groups: O(n g), plus hashing the prompt up to the
  // first miss.

  // Starts a sequence with the longest cached prefix of the prompt, in whole blocks, at most
  // floor((length - 1) / block_size) of them: the prompt's last token is always computed, and no
  // shared block is written to. The capacity covers `room` tokens (default: the prompt), or the
  // prefix if that is longer. Exhausted if no sequence is free, or if fewer than `watermark` blocks
  // would stay available.
  Result<Admission> admit(const Prompt& prompt, std::optional<TokenCount> room = {});
  // Whether `admit` would succeed now.
  bool can_admit(const Prompt& prompt, std::optional<TokenCount> room = {}) const;
  // The number of tokens that `admit` would find cached now; 0 for an invalid prompt.
  TokenCount cached_prefix(const Prompt& prompt) const;
  // Writes the hashes of the prompt's first whole blocks to `hashes`, as many as fit. Keep them as
  // Prompt::hashes, so that a prompt is hashed only once however often it is looked up. Hashes that
  // the prompt already has are copied, so only the new part of a longer prompt is hashed. Returns
  // the number written: it stops before a block with too many items, and is 0 without a prefix
  // cache. Invalid input for invalid items. O(tokens).
  Result<std::int64_t> hash_prompt(const Prompt& prompt, std::span<BlockHash> hashes) const;

  // ---- Growth. O(new blocks * groups); one token inside a block costs only a few comparisons.
  // Groups with a window first return the blocks that no row from the context on can see, which
  // limits later truncation.

  // Reserves slots for tokens [context, length), to be written by this sequence: lookahead, or a
  // chunk of the prompt. Does nothing if the context has `length` tokens or more. Returns copies if
  // the block in which the context ends is shared.
  Result<std::span<const BlockCopy>> reserve(SequenceHandle sequence, TokenCount length);
  // The same for `count` more tokens, which become part of the context.
  Result<std::span<const BlockCopy>> append(SequenceHandle sequence, TokenCount count);
  // Appends one token to each of these sequences, or to none. Invalid input if one occurs twice.
  Result<std::span<const BlockCopy>> append(std::span<const SequenceHandle> sequences);
  // Whether that `append` would succeed now. Changes nothing, but plans in scratch memory, so
  // threads must not call it concurrently.
  bool can_append(std::span<const SequenceHandle> sequences);

  // Declares that K and V of these tokens (the context's, and possibly more) are computed: from now
  // on the context's full blocks can be found. If two blocks have equal content, the first one
  // remains the one that is found. The caller guarantees that K and V belong to these ids; blocks
  // that the sequence published before keep their ids. A sequence that was alive at a reset
  // publishes nothing more until it is preempted and resumed. O(new full blocks * groups), plus
  // hashing them. Invalid input if there are fewer ids than context tokens, or for invalid items.
  Status commit(SequenceHandle sequence, const Tokens& tokens);

  // ---- Branching. O(blocks * groups). Takes no blocks: a shared block is copied only when a
  // sequence writes to it.

  // Creates a sequence with the same context in the same blocks. Lookahead stays with the parent.
  Result<SequenceHandle> fork(SequenceHandle parent);
  // Makes new beams from old ones: beam i continues parents[parent_of[i]]. A parent's first child
  // takes over its place and handle; parents without a child are released. Returns the handles in
  // the order of `parent_of`.
  Result<std::span<const SequenceHandle>> beam_step(std::span<const SequenceHandle> parents,
                                                    std::span<const std::int32_t> parent_of);

  // ---- Giving blocks back. O(returned blocks * groups).

  // Cuts the context to `length` tokens and returns all blocks after it, lookahead included. May
  // cut into cached or shared blocks. Invalid input if `length` exceeds the context, or if a window
  // group has already returned blocks that the next row would see.
  Status truncate(SequenceHandle sequence, TokenCount length);
  // Ends the sequence and invalidates its handle. Its cached blocks become evictable, its last ones
  // first. If its blocks are being swapped, they are held until `complete`.
  Status release(SequenceHandle sequence);
  // Returns all blocks but keeps the handle; after `resume` the sequence is computed again.
  Status preempt(SequenceHandle sequence);
  // As `admit`, for a preempted sequence. Returns the number of tokens found cached.
  Result<TokenCount> resume(SequenceHandle sequence, const Prompt& prompt,
                            std::optional<TokenCount> room = {});
  bool can_resume(SequenceHandle sequence, const Prompt& prompt,
                  std::optional<TokenCount> room = {}) const;

  // ---- Swapping to host memory. O(blocks * groups). Between the call and `complete` a sequence
  // can only be inspected or released, and its blocks are held on both sides.

  // Moves running sequences to the host pool. A block that several of them share is copied once,
  // and is shared again if they are swapped in together. Lookahead, and blocks outside a window,
  // are returned at once.
  Result<Transfer> swap_out(std::span<const SequenceHandle> sequences);
  bool can_swap_out(std::span<const SequenceHandle> sequences) const;
  // Brings sequences back, with capacity for `lookahead` tokens after the context. If `lookahead`
  // is not 0, the block in which each context ends is not shared, so that the sequence can append
  // that many. Exhausted if fewer than `watermark` blocks would stay available.
  Result<Transfer> swap_in(std::span<const SequenceHandle> sequences,
                           TokenCount lookahead = TokenCount(0));
  bool can_swap_in(std::span<const SequenceHandle> sequences,
                   TokenCount lookahead = TokenCount(0)) const;
  // Declares that the copies of a transfer are made, and frees the blocks on the source side.
  Status complete(TransferHandle transfer);

  // ---- The prefix cache.

  // Protects the longest cached prefix of these tokens, in whole blocks, from eviction. Invalid
  // input if none of it is cached; exhausted if no pin is free. O(blocks * groups).
  Result<Pin> pin(const Prompt& prompt);
  Status unpin(PinHandle pin);
  // Forgets all cached content and all pins, as is necessary after a change of weights. Sequences
  // keep their blocks. O(nodes * groups + sequences).
  void reset_prefix_cache();

  // ---- Inspection. All O(1), except `states` and the like, which are O(groups).

  Result<SequenceView> view(SequenceHandle sequence) const;
  // The sequence's physical blocks on the device by logical index; kNoBlock where a window group
  // gave one back. Empty while the sequence is preempted or swapped out.
  Result<std::span<const BlockId>> block_table(SequenceHandle sequence, std::int32_t group) const;
  // The same on the host, where a sequence has blocks while it is swapped out or being swapped.
  Result<std::span<const BlockId>> host_block_table(SequenceHandle sequence,
                                                    std::int32_t group) const;
  BlockView block(BlockId block) const;  // of the device; precondition: the block exists
  // The blocks that can be evicted, least recently used first. O(these blocks).
  std::vector<BlockId> eviction_order() const;

  BlockCount available_blocks() const;  // free and evictable
  std::int32_t num_sequences() const;   // alive, or released while being swapped
  PoolStates states() const;
  GroupStates group_states(std::int32_t group) const;  // precondition: the group exists
  PoolStates host_states() const;
  const CacheStatistics& statistics() const;
  CacheMemory memory() const;
  const CacheOptions& options() const;

 private:
  friend struct CacheCore;

  explicit BlockManager(std::unique_ptr<CacheCore> core);

  std::unique_ptr<CacheCore> core_;
};

}  // namespace recto::cache
