#pragma once

// The executor's functions that kernels call through the dialect. Always called by the running
// thread.

#include <cstddef>
#include <cstdint>

#include "verify/simt/executor/arithmetic.h"
#include "verify/simt/executor/kernel_thread.h"
#include "verify/simt/executor/shared_memory.h"
#include "verify/simt/executor/unobserved.h"

namespace recto::simt::device {

// __syncthreads() and its reducing forms.
int block_barrier(BarrierReduction reduction, int predicate, const char* name, Site site);

// Waits until all lanes of `mask` that have not exited have arrived; then `combine` is called once.
void collective(std::uint32_t mask, void* payload, const Collective& what, Site site);

void grid_barrier(Site site);

// The running thread is about to do an atomic operation, perhaps in a loop that waits for another
// thread of its block: now and then this lets the other threads run.
void let_others_run(Site site);
RECTO_SIMT_UNOBSERVED inline void begin_atomic(Site site) {
  constexpr unsigned kAtomicsOfTurn = 64;
  if (current_thread == nullptr) return;
  if (++current_thread->atomics % kAtomicsOfTurn == 0) let_others_run(site);
}

// The arithmetic of the running launch; outside kernels, the default.
const Arithmetic& arithmetic();

void* shared_variable(const SharedVariable& variable);
// `alignment` is the declared one.
void* dynamic_shared(std::size_t alignment);

// The kernel gives up. `what` describes the running thread; `detail` replaces its {}.
[[noreturn]] void fail(const char* what, const char* detail, Site site);

// For .aligned instructions of PTX, after the lanes of `mask` have met: requires that all lanes of
// the warp take part, from the same source line. (Two calls on one line count as one.)
void require_whole_warp(std::uint32_t mask);

// Reports that the running thread takes the value of a lane that does not take part.
[[noreturn]] void refuse_shuffle(unsigned lane, unsigned source);

// Reports that CUDA has no shuffles within segments of `width` lanes.
[[noreturn]] void refuse_width(int width, Site site);

}  // namespace recto::simt::device
