#pragma once

// An engine that carries out any commands on a block manager, with tiny pools and few distinct
// tokens, so that all events occur. After every command it checks that the manager's invariants
// hold, that a refusal changed nothing, that `can_*` predicted the answer, and that each slot that
// a later row sees, on the device and on the host, holds what its sequence wrote there. A
// difference is a broken contract, which throws in tests.
//
//   Coverage coverage;
//   CacheWalk walk(options, 2, coverage);
//   walk.run({.kind = CommandKind::kAdmit, .count = 3});

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cuda/cache/block_manager.h"
#include "cuda/cache/testing/cache_command.h"
#include "cuda/cache/testing/cache_text.h"
#include "cuda/cache/testing/coverage.h"
#include "cuda/cache/testing/event_mirror.h"
#include "cuda/cache/testing/shadow_cache.h"

namespace recto::cache::testing {

class CacheWalk {
 public:
  // A sequence as the engine knows it.
  struct Actor {
    SequenceHandle handle = {};
    CacheText text = {};             // its first tags.size() tokens are the context
    std::vector<SlotTag> tags = {};  // what was written for them
  };
  // Blocks in a transfer. They are copied at once. At the end, the walk checks that neither side
  // has changed, so that a copy at any time in between would give the same result.
  struct Moving {
    CommandKind kind = CommandKind::kSwapOut;  // or kSwapIn
    TransferHandle handle = {};
    std::vector<SwapCopy> copies = {};
    std::vector<SlotTag> tags = {};  // of the copied slots, on both sides, until it ends
  };
  enum class Checks : std::uint8_t { kNone, kAll };

  // `alphabet`: the number of distinct tokens. `remembered_max`: the number of texts kept as
  // prefixes of prompts.
  CacheWalk(const CacheOptions& options, std::int32_t alphabet, Coverage& coverage,
            std::int64_t remembered_max = 8);

  // The call that the command means now; nullopt if there is nothing to act on.
  std::optional<CacheCall> meaning(const CacheCommand& command);
  // Carries out the call and applies the answer: makes its copies, writes K and V.
  CacheAnswer perform(const CacheCommand& command, const CacheCall& call,
                      Checks checks = Checks::kAll);
  // Both steps, with all checks.
  void run(const CacheCommand& command);
  // Checks what must hold between any two commands.
  void check();

  const BlockManager& manager() const { return manager_; }
  BlockManager& manager() { return manager_; }  // for queries only
  const std::vector<Actor>& actors() const { return actors_; }
  const std::vector<Moving>& moving() const { return moving_; }
  const std::vector<PinHandle>& pins() const { return pins_; }
  const std::vector<CacheText>& remembered() const { return remembered_; }
  const EventMirror& events() const { return events_; }
  SequenceState state_of(const Actor& actor) const {
    return manager_.view(actor.handle).value().state;
  }
  std::vector<SequenceHandle> all_in(SequenceState state) const;
  // The commands so far, with their meanings.
  const std::string& log() const { return log_; }

 private:
  // The sequences that `who` selects from: those in the state, or all.
  std::vector<SequenceHandle> candidates(std::int32_t who, SequenceState state) const;
  std::vector<SequenceHandle> pick(std::int32_t who, SequenceState state) const;
  std::vector<SequenceHandle> pick_set(std::int32_t who, SequenceState state) const;
  bool name_sequences(const CacheCommand& command, CacheCall& call) const;
  void fill_arguments(const CacheCommand& command, CacheCall& call) const;
  void fill_prompt(const CacheCommand& command, const Actor& own, CacheCall& call) const;
  CacheText make_text(const CacheCommand& command, const CacheText& base) const;
  void add_tokens(CacheText& text, std::int64_t length, std::int32_t token) const;
  std::vector<SequenceHandle> bad_handles() const;

  // Carries out a call after all queries that predict its answer.
  CacheAnswer ask(const CacheCall& call);
  std::optional<bool> is_announced(const CacheCall& call);
  void check_hashes(const CacheCall& call) const;
  CacheAnswer misuse(SequenceHandle bad);
  void follow(const CacheCommand& command, const CacheCall& call, const CacheAnswer& answer);
  void follow_growth(const CacheCommand& command, const CacheCall& call);
  void follow_beams(const CacheCall& call, const CacheAnswer& answer);
  void follow_transfer(const CacheCall& call, const CacheAnswer& answer);
  void finish_transfer(const CacheCall& call);
  void write_token(Actor& actor);
  void remember(const CacheText& text);
  void leave(SequenceHandle handle);

  void check_reads(const Actor& actor) const;
  void note_stored();
  void check_stored();
  std::vector<SlotTag> written(std::int32_t group, BlockId block) const;
  void check_writable(SequenceHandle who, std::int32_t group, BlockId block) const;
  std::vector<SlotTag> tags_of(const Moving& moving, CommandKind side) const;
  std::span<const BlockId> table(const Actor& actor, std::int32_t group) const;
  Actor& actor(SequenceHandle handle);
  const Actor& actor(SequenceHandle handle) const;
  std::int64_t block_size() const { return manager_.options().block_size.value(); }
  std::int64_t max_tokens() const;
  std::int32_t num_groups() const {
    return static_cast<std::int32_t>(manager_.options().groups.size());
  }

  std::int32_t alphabet_;
  std::int64_t remembered_max_;
  Coverage& coverage_;
  EventMirror events_;
  BlockManager manager_;
  ShadowCache shadow_;
  Checks checks_ = Checks::kAll;
  std::uint64_t weights_ = 0;  // number of the current set of weights; each reset increases it
  std::vector<Actor> actors_;
  std::vector<Moving> moving_;
  std::vector<PinHandle> pins_;
  std::vector<CacheText> remembered_ = {{}};
  std::vector<SequenceHandle> gone_;   // handles that are no longer valid
  TransferHandle last_transfer_ = {};  // completed
  PinHandle last_pin_ = {};            // removed
  std::string state_;                  // state_text of the manager, as of the last command
  std::string log_;
};

}  // namespace recto::cache::testing
