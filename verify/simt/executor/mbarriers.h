#pragma once

// The mbarriers of one thread block (PTX ISA, mbarrier), and the bulk copies that complete on them.
// A copy's bytes arrive as late as allowed: when a thread waits at its mbarrier.

#include <cstdint>
#include <vector>

#include "verify/simt/executor/observer.h"

namespace recto::simt {

class Mbarriers {
 public:
  static constexpr unsigned kArrivalsMax = (1U << 20) - 1;

  // Starts over for the next thread block.
  void clear();

  // All are called by `thread`, the running one. Misuse abandons the launch. `object` is in shared
  // memory; only these functions may touch it.
  void init(ThreadState& thread, std::uint64_t* object, unsigned arrivals);
  void invalidate(ThreadState& thread, std::uint64_t* object);
  // The phase now waits for one arrival fewer, and for `bytes` more bytes of copies.
  void arrive(ThreadState& thread, std::uint64_t* object, unsigned bytes);
  void begin_copy(ThreadState& thread, std::uint64_t* object, AsyncCopy copy);
  // test: whether the phase of that parity has ended. wait: returns when it has.
  bool test(ThreadState& thread, std::uint64_t* object, unsigned parity);
  void wait(ThreadState& thread, std::uint64_t* object, unsigned parity);

  // Copies under way, the oldest first.
  const std::vector<AsyncCopy>& copies() const { return copies_; }

 private:
  struct Mbarrier {
    std::uint64_t* object = nullptr;
    unsigned arrivals = 0;    // of each phase
    unsigned pending = 0;     // for which this phase still waits
    std::int64_t bytes = 0;   // the same; negative if copies arrive before they are announced
    std::uint64_t phase = 0;  // the number of phases that have ended
    std::vector<ThreadState*> waiting = {};
  };

  Mbarrier* find(const std::uint64_t* object);
  Mbarrier& valid(ThreadState& thread, std::uint64_t* object);
  static void mark(const Mbarrier& barrier);
  static void end_phase_if_due(ThreadBlock& block, Mbarrier& barrier);
  // Delivers the copies that complete on the mbarrier, until its phase ends.
  void deliver(ThreadState& thread, Mbarrier& barrier);

  std::vector<Mbarrier> barriers_;
  std::vector<AsyncCopy> copies_;
};

}  // namespace recto::simt
