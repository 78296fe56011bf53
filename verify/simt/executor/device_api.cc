#include "verify/simt/executor/device_api.h"

#include <fmt/format.h>

#include <bit>
#include <span>

#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/observer.h"
#include "verify/simt/executor/scheduler.h"

namespace recto::simt::device {

int block_barrier(BarrierReduction reduction, int predicate, const char* name, Site site) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread_at(site);
  return thread.block->wait_at_barrier(thread, reduction, predicate, name);
}

void grid_barrier(Site site) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread_at(site);
  thread.block->scheduler().wait_at_grid_barrier(thread);
}

void let_others_run(Site site) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread_at(site);
  thread.operation = "atomic operation";
  thread.block->scheduler().yield(thread);
}

const Arithmetic& arithmetic() {
  static constexpr Arithmetic kDefault;
  return current_thread == nullptr ? kDefault : running_thread().block->launch().options.arithmetic;
}

void* shared_variable(const SharedVariable& variable) {
  const OutsideKernel outside;
  SharedMemory& shared = running_thread().block->shared();
  std::byte* memory = shared.variable(variable);
  if (memory != nullptr) return memory;
  running_thread_at(variable.site)
      .refuse(Check::kInvalidLaunch,
              fmt::format("needs {} bytes for shared variable '{}': with the others more than {}, "
                          "or more than {} with the {} bytes of dynamic shared memory",
                          variable.bytes, variable.name, SharedMemory::kStaticBytesMax,
                          SharedMemory::kBytesMax, shared.dynamic_bytes()));
}

void* dynamic_shared(std::size_t alignment) {
  const OutsideKernel outside;
  std::byte* memory = running_thread().block->shared().dynamic(alignment);
  if (memory != nullptr) return memory;
  running_thread().refuse(Check::kInvalidLaunch,
                          fmt::format("declares dynamic shared memory aligned to {} bytes, after a "
                                      "declaration aligned to fewer",
                                      alignment));
}

void fail(const char* what, const char* detail, Site site) {
  const OutsideKernel outside;
  running_thread_at(site).refuse(Check::kAssertion, fmt::format(fmt::runtime(what), detail));
}

void require_whole_warp(std::uint32_t mask) {
  ThreadBlock& block = *running_thread().block;
  const auto lanes = block.threads().subspan(running_thread().warp->number * kWarpSize);
  if (mask == 0xffffffff) {
    for (const ThreadState& lane : lanes.first(kWarpSize)) {
      if (lane.site != lanes[0].site) block.refuse_branches(lane, lanes[0]);
    }
    return;
  }
  const ThreadState& thread = lanes[static_cast<unsigned>(std::countr_zero(mask))];
  thread.refuse(
      Check::kWarpMask,
      fmt::format("calls {}, which takes all lanes of a warp, but only lanes {:#010x} are present",
                  thread.operation, mask));
}

void refuse_shuffle(unsigned lane, unsigned source) {
  const ThreadState& running = running_thread();
  const ThreadState& thread = running.block->threads()[running.warp->number * kWarpSize + lane];
  thread.refuse(Check::kShuffleSource,
                fmt::format("reads the value of lane {} at {}, which does not participate", source,
                            thread.operation));
}

void refuse_width(int width, Site site) {
  const OutsideKernel outside;
  running_thread_at(site).refuse(
      Check::kShuffleSource,
      fmt::format("shuffles with width {}, expected a power of two from 1 to 32", width));
}

}  // namespace recto::simt::device
