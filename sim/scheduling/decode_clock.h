#pragma once

// Tracks which groups have an event at which step. All decoding groups gain one token per step, so
// their contexts are a function of a common clock, and a group is not touched until an event: it
// needs its next block every block_size ticks, always at the same residue of the clock; it ends,
// grows beyond its window, or switches beams at one known tick.

#include <cstdint>
#include <vector>

#include "sim/scheduling/sequence_group.h"

namespace recto::sim {

class DecodeClock {
 public:
  // `block_size` 0: sequences never grow.
  explicit DecodeClock(std::int64_t block_size);

  std::int64_t now() const { return now_; }
  void tick() {
    ++now_;
    if (++residue_ >= block_size_) residue_ = 0;
  }

  // Valid only if sequences grow. residue() is `now` modulo the block size; residue_of() is the
  // residue of the ticks at which a sequence with `context` tokens now has filled its blocks.
  std::size_t residue() const { return static_cast<std::size_t>(residue_); }
  std::size_t residue_of(std::int64_t context) const {
    const std::int64_t residue = residue_ - context % block_size_;
    return static_cast<std::size_t>(residue < 0 ? residue + block_size_ : residue);
  }

  // The group decodes from now on. `context` is its current context, `deadline` the tick of its
  // next event. O(groups of the same residue).
  void start(GroupIndex group, std::int64_t request_id, std::int64_t context,
             std::int64_t deadline);
  void stop(GroupIndex group);
  void set_deadline(GroupIndex group, std::int64_t deadline);

  // The groups whose context is now a multiple of the block size, by request id.
  const std::vector<GroupIndex>& due() const { return residues_[residue()]; }

  // Appends the groups whose deadline is now to `out`, by request id, and clears their deadlines.
  void take_deadlines(std::vector<GroupIndex>& out);

 private:
  struct Entry {
    std::int64_t request_id = 0;
    std::size_t residue = 0;
    std::int64_t deadline = 0;
    GroupIndex previous = kNone;  // neighbours in the ring bucket
    GroupIndex next = kNone;
    bool has_deadline = false;
  };
  static constexpr GroupIndex kNone = -1;
  static constexpr std::int64_t kRing = 4096;  // a later deadline waits for more turns of the ring

  Entry& entry(GroupIndex group) { return entries_[static_cast<std::size_t>(group)]; }
  GroupIndex& ring(std::int64_t tick) { return ring_[static_cast<std::size_t>(tick % kRing)]; }
  void link(GroupIndex group);
  void unlink(GroupIndex group);

  std::int64_t now_ = 0;
  std::int64_t residue_ = 0;
  std::int64_t block_size_;
  std::vector<Entry> entries_;                     // by GroupIndex
  std::vector<std::vector<GroupIndex>> residues_;  // [max(block_size, 1)], each by request id;
                                                   // empty if sequences never grow
  std::vector<GroupIndex> ring_;                   // [kRing] heads of lists
};

}  // namespace recto::sim
