#pragma once

// Gives the same commands to a block manager and its model. After every command it compares each
// answer, each count, each table (blocks up to renaming) and what each slot holds, and checks the
// invariants. A difference is a broken contract, which throws in tests.
//
//   Happenings happenings;
//   Lockstep lockstep(options, {.alphabet = 2}, happenings);
//   lockstep.run({.kind = CommandKind::kAdmit, .count = 3});

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cuda/cache/block_manager.h"
#include "verify/models/block_manager_model.h"
#include "verify/models/block_names.h"
#include "verify/models/cache_command.h"
#include "verify/models/cache_text.h"
#include "verify/models/event_mirror.h"
#include "verify/models/happenings.h"
#include "verify/models/shadow_cache.h"

namespace recto::verify {

struct LockstepOptions {
  std::int32_t alphabet = 2;        // number of distinct tokens
  std::int32_t remembered_max = 8;  // texts that prompts may begin with
};

class Lockstep {
 public:
  // A sequence as the engine knows it.
  struct Actor {
    cache::SequenceHandle handle = {};
    SequenceName name = {};
    CacheText text = {};             // its first tags.size() tokens are the context
    std::vector<SlotTag> tags = {};  // what was written for them
  };

  Lockstep(const cache::CacheOptions& options, const LockstepOptions& how, Happenings& happenings);

  void run(const CacheCommand& command);
  // Runs the command on both sides, and compares only the answers: for returning to an earlier
  // state.
  void replay(const CacheCommand& command);

  const cache::BlockManager& manager() const { return manager_; }
  const BlockManagerModel& model() const { return model_; }
  const std::vector<Actor>& actors() const { return actors_; }
  std::size_t num_transfers() const { return transfers_.size(); }
  std::size_t num_pins() const { return pins_.size(); }
  const BlockNames& device_names() const { return device_names_; }
  // The commands so far, and what they were taken to mean.
  const std::string& log() const { return log_; }

 private:
  enum class Direction : std::uint8_t { kOut, kIn };
  struct Transfer {
    cache::TransferHandle handle = {};
    TransferName name = {};
    Direction direction = Direction::kOut;
    std::vector<cache::SwapCopy> copies = {};
    std::vector<ModelSwapCopy> model_copies = {};
    std::vector<SlotTag> tags = {};  // of the copied slots, on both sides, until it ends
  };
  struct Pin {
    cache::PinHandle handle = {};
    PinName name = {};
  };
  using Picked = std::vector<std::size_t>;  // indices of actors

  // Each runs a command on both sides; returns the answer's code, or none if there was nothing to
  // do.
  std::optional<StatusCode> execute(const CacheCommand& command);
  std::optional<StatusCode> admit(const CacheCommand& command);
  std::optional<StatusCode> resume(const CacheCommand& command);
  std::optional<StatusCode> append(const CacheCommand& command);
  std::optional<StatusCode> append_batch(const CacheCommand& command);
  std::optional<StatusCode> reserve(const CacheCommand& command);
  std::optional<StatusCode> commit(const CacheCommand& command);
  std::optional<StatusCode> fork(const CacheCommand& command);
  std::optional<StatusCode> beam_step(const CacheCommand& command);
  std::optional<StatusCode> truncate(const CacheCommand& command);
  std::optional<StatusCode> release(const CacheCommand& command);
  std::optional<StatusCode> preempt(const CacheCommand& command);
  std::optional<StatusCode> swap_out(const CacheCommand& command);
  std::optional<StatusCode> swap_in(const CacheCommand& command);
  std::optional<StatusCode> complete(const CacheCommand& command);
  std::optional<StatusCode> pin(const CacheCommand& command);
  std::optional<StatusCode> unpin(const CacheCommand& command);
  std::optional<StatusCode> reset(const CacheCommand& command);
  std::optional<StatusCode> misuse(const CacheCommand& command);
  void misuse_alone(cache::SequenceHandle bad);
  void misuse_among(cache::SequenceHandle bad);

  // What a command means.
  Picked all_in(cache::SequenceState state) const;
  std::optional<std::size_t> pick(std::int32_t who, cache::SequenceState state) const;
  Picked pick_set(std::int32_t who, cache::SequenceState state) const;
  std::vector<cache::SequenceHandle> handles(const Picked& picked) const;
  std::vector<SequenceName> names(const Picked& picked) const;
  CacheText make_text(const CacheCommand& command, const CacheText& base) const;
  cache::Prompt with_hashes(const CacheText& text, std::vector<cache::BlockHash>& hashes) const;
  void ask(const CacheText& text) const;
  void add_tokens(CacheText& text, std::int64_t length, std::int32_t token) const;
  void remember(const CacheText& text);
  void say(const std::string& text);
  std::string name_of(std::size_t actor) const;
  std::string names_of(const Picked& picked) const;

  // What follows from an answer.
  void enter(Actor& actor, const CacheText& text, std::int64_t hit);
  void take_copies(std::span<const cache::BlockCopy> copies,
                   const std::vector<ModelCopy>& expected);
  void write_tokens(std::size_t actor, std::int64_t count);
  void leave(const Picked& picked);
  void begin_transfer(const cache::Transfer& begun, const ModelTransfer& expected,
                      Direction direction);
  void match_out(const Transfer& transfer);
  void match_sources(const Transfer& transfer) const;
  void match_in(const Transfer& transfer) const;
  std::vector<SlotTag> tags_of(const Transfer& transfer, Direction side) const;
  void note_published(const Actor& actor, std::size_t blocks_before);

  // Comparisons.
  void bind_tables();
  void compare();
  void compare_counts() const;
  void compare_statistics();
  void compare_sequences() const;
  void compare_index() const;
  void compare_lookups();
  void check_reads() const;
  void check_host_reads(const Actor& actor) const;
  void check_writable(std::size_t actor, std::int32_t group, BlockId block) const;
  void check_unseen(BlockId block) const;
  bool is_in_flight(BlockId block) const;
  std::vector<std::int64_t> observe() const;

  // Happenings, from the model before and after.
  void count_changes(const BlockManagerModel& before);
  void count_hits(const BlockManagerModel& before, const Actor& actor);
  void count_copies(const BlockManagerModel& before, const std::vector<ModelCopy>& copies);
  void count_reset(const BlockManagerModel& before);
  std::int64_t block_size() const { return model_.options().block_size.value(); }
  std::int32_t num_groups() const {
    return static_cast<std::int32_t>(model_.options().groups.size());
  }
  BlockId entry(const Actor& actor, std::int32_t group, std::int64_t index) const;

  LockstepOptions how_;
  Happenings& happenings_;
  EventMirror events_;
  BlockManagerModel model_;
  cache::BlockManager manager_;
  ShadowCache shadow_;
  SlotTags tags_;
  std::int64_t weights_ = 0;  // number of the set of weights; each reset brings a new one
  std::int64_t collisions_ = 0;
  bool is_checking_ = true;

  std::vector<Actor> actors_;
  std::vector<Transfer> transfers_;
  std::vector<Pin> pins_;
  std::vector<CacheText> remembered_ = {{}};
  std::vector<cache::SequenceHandle> gone_;              // handles that were valid once
  Transfer last_transfer_ = {};                          // completed
  Pin last_pin_ = {};                                    // unpinned
  std::map<TextChain, std::vector<SlotTag>> published_;  // what a chain's last block holds
  BlockNames device_names_;
  BlockNames host_names_;
  std::string log_;
};

}  // namespace recto::verify
