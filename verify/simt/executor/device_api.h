#pragma once

// What kernels call of the executor, by way of the dialect. All by the running thread.

#include <cstddef>
#include <cstdint>

#include "verify/simt/executor/kernel_thread.h"
#include "verify/simt/executor/shared_memory.h"
#include "verify/simt/executor/thread_block.h"

namespace recto::simt::device {

// __syncthreads() and its reducing forms.
int block_barrier(BarrierReduction reduction, int predicate, const char* name, Site site);

// Waits until all lanes of `mask` that have not exited have come, then `combine` is called once.
inline void collective(std::uint32_t mask, void* payload, const Collective& what, Site site) {
  ThreadBlock::meet(mask, payload, what, site);
}

void grid_barrier(Site site);

void* shared_variable(const SharedVariable& variable);
void* dynamic_shared();

// The running thread takes the value of a lane that does not take part.
[[noreturn]] void refuse_shuffle(unsigned lane, unsigned source);

}  // namespace recto::simt::device
