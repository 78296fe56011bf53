#pragma once

// The mbarriers of one thread block (PTX ISA, mbarrier), and the bulk copies that complete on them.
// A copy's bytes arrive as late as allowed: when a thread waits at its mbarrier. Kernels call the
// functions in device_copies.h.

#include <cstdint>
#include <vector>

#include "verify/simt/executor/observer.h"

namespace recto::simt {

struct Mbarrier {
  std::uint64_t* object = nullptr;  // in shared memory; only the executor may touch it
  unsigned arrivals = 0;            // of each phase
  unsigned pending = 0;             // that this phase still waits for
  std::int64_t bytes = 0;   // still expected; negative if copies arrive before they are announced
  std::uint64_t phase = 0;  // the number of phases that have ended
  std::vector<ThreadState*> waiting = {};
};

struct Mbarriers {
  static constexpr unsigned kArrivalsMax = (1U << 20) - 1;

  std::vector<Mbarrier> barriers;
  std::vector<AsyncCopy> copies;  // under way, the oldest first

  // `thread`, the running one, requests a copy that completes on the mbarrier.
  void begin_copy(ThreadState& thread, std::uint64_t* object, AsyncCopy copy);
};

}  // namespace recto::simt
