#pragma once

// The running groups, and sums over them. The cost of a step is computed from the sums. They change
// when a group starts or stops, and by one formula with every tick of the decode clock.

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/scheduling/decode_clock.h"
#include "sim/scheduling/running_list.h"
#include "sim/scheduling/sequence_group.h"
#include "sim/time/time_model.h"

namespace recto::sim {

class Batch {
 public:
  // `block_size` 0: sequences never grow. `window` 0: every token stays visible.
  Batch(std::int64_t block_size, std::int64_t window);

  // Storage of groups: a group's index and address stay valid until `destroy`.
  GroupIndex create(const Request& request);
  void destroy(GroupIndex index);
  SequenceGroup& at(GroupIndex index) { return *groups_[static_cast<std::size_t>(index)]; }
  const SequenceGroup& at(GroupIndex index) const {
    return *groups_[static_cast<std::size_t>(index)];
  }

  // Running groups in order of request id; the latest arrival is last.
  const RunningList& running() const { return running_; }
  std::int64_t running_sequences() const { return running_sequences_; }
  void add_running(GroupIndex index);
  void remove_running(GroupIndex index);

  // A running group starts to decode at its `context`; `deadline_context` is the context at which
  // its next event is due. `stop_decoding` stores its current context.
  void start_decoding(GroupIndex index, std::int64_t deadline_context);
  void stop_decoding(GroupIndex index);
  void set_deadline(GroupIndex index, std::int64_t deadline_context);
  // From now on, each new token of the group moves an old token out of the window.
  void enter_beyond_window(GroupIndex index);

  // The sequences whose blocks are full at the current tick; each needs one more block.
  struct DueBlocks {
    std::vector<SequenceId> sequences{};
    TokenCount wanted{};  // new slots that will hold tokens
  };
  void collect_due_blocks(DueBlocks& due) const;

  std::int64_t decoding_sequences() const { return decoding_sequences_; }
  std::int64_t sequences_beyond_window() const { return sequences_beyond_window_; }
  std::int64_t context(const SequenceGroup& group) const {
    if (group.phase != SequenceGroupPhase::kDecoding) return group.context;
    return group.context + clock_.now() - group.anchor_clock;
  }
  std::int64_t context(GroupIndex index) const { return context(at(index)); }
  // Tokens that a member has in the device cache, in any phase.
  std::int64_t context(const SequenceGroup& group, std::size_t member) const;
  DecodeClock& clock() { return clock_; }

  // Adds the KV reads of one more token of every decoding sequence.
  void add_decode_load(StepLoad& load) const;
  // Adds the KV reads of one more token of a sequence that is not counted as decoding.
  void add_row_load(std::int64_t context, StepLoad& load) const;
  // Advances the clock: every decoding sequence gained a token.
  void tick();

 private:
  // The data that allocating a new block needs about a decoding group. Stored contiguously, because
  // a simulation spends most of its time on new blocks.
  struct Growing {
    std::int64_t end = 0;  // tick at which the context is final
    std::int32_t width = 0;
    SequenceId first_member;
  };

  std::int64_t visible(std::int64_t context) const;
  void count(const SequenceGroup& group, std::int64_t context, std::int64_t sign);

  std::int64_t block_size_;
  std::int64_t window_;
  DecodeClock clock_;
  std::vector<std::unique_ptr<SequenceGroup>> groups_;  // by GroupIndex
  std::vector<Growing> growing_;                        // by GroupIndex
  std::vector<GroupIndex> unused_;
  std::vector<std::int32_t> unused_sequences_;
  std::int32_t sequence_count_ = 0;
  RunningList running_;

  std::int64_t running_sequences_ = 0;
  std::int64_t decoding_sequences_ = 0;
  std::int64_t sequences_beyond_window_ = 0;
  std::int64_t visible_tokens_ = 0;  // cached and visible, over decoding sequences
  std::int64_t blocks_ = 0;          // blocks that their contexts fill or begin
  // [block_size] decoding sequences, by the residue of the clock at which their blocks fill.
  std::vector<std::int64_t> residue_sequences_;
};

}  // namespace recto::sim
