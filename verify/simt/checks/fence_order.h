#pragma once

// The order that fences and atomic operations establish, also across thread blocks. A fence
// followed by an atomic operation releases all accesses before the fence. A later atomic operation
// on the same address followed by a fence acquires them. Barriers pass the order on to all threads
// that meet.

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "verify/simt/checks/access_stamp.h"
#include "verify/simt/executor/observer.h"

namespace recto::simt {

// A thread of a launch.
struct Actor {
  std::uint64_t block = 0;
  unsigned thread = 0;
};

class FenceOrder {
 public:
  // A part of a thread block's actions: all actions before an epoch of the block and, in the epoch,
  // those of each thread up to a clock.
  struct Reach {
    std::uint32_t epoch = 0;
    std::vector<std::uint32_t> clocks = {};  // [thread], or empty
  };

  // Removes everything.
  void clear();
  // Removes what threads know, but keeps what they have handed over.
  void end_blocks() { blocks_.clear(); }

  // Whether there has been a fence; without one nothing is ordered.
  bool has_fences() const { return has_fences_; }
  // `present`: the thread's clocks of its own block.
  void pass_fence(Actor actor, const Reach& present);
  void pass_atomic(Actor actor, std::uintptr_t address, AccessKind kind);
  void pass_barrier(std::uint64_t block);
  // `lanes` are those of the warp that begins at `thread`.
  void pass_warp_barrier(std::uint64_t block, unsigned thread, std::uint32_t lanes);

  // Whether the access of `past`, in block `past_block`, was handed to the thread.
  bool was_handed(Actor to, std::uint64_t past_block, Stamp past) const;

 private:
  using Reaches = std::map<std::uint64_t, Reach>;  // by thread block
  struct Sight {
    Reaches fenced = {};    // comes before a fence: atomic operations from now on hand it over
    Reaches observed = {};  // was handed over by atomic operations: known from the next fence on
    Reaches known = {};
  };
  struct Block {
    Sight of_all = {};  // passed on by the last barrier
    std::map<unsigned, Sight> of_threads = {};
  };

  static bool contains(const Reaches& reaches, std::uint64_t block, Stamp past);
  static void join(Reach& reach, const Reach& other);
  static void join(Reaches& reaches, const Reaches& others);
  static void join(Sight& sight, const Sight& other);

  bool has_fences_ = false;
  std::unordered_map<std::uint64_t, Block> blocks_;
  std::unordered_map<std::uintptr_t, Reaches> handed_over_;  // by address
};

}  // namespace recto::simt
