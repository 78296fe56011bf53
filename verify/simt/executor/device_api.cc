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
  ThreadState& thread = running_thread();
  thread.site = site;
  return thread.block->wait_at_barrier(thread, reduction, predicate, name);
}

void grid_barrier(Site site) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread();
  thread.site = site;
  thread.block->scheduler().wait_at_grid_barrier(thread);
}

void let_others_run(Site site) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread();
  thread.operation = "atomic operation";
  thread.site = site;
  thread.block->scheduler().yield(thread);
}

const Arithmetic& arithmetic() {
  static constexpr Arithmetic kDefault;
  return current_thread == nullptr ? kDefault : running_thread().block->launch().options.arithmetic;
}

void* shared_variable(const SharedVariable& variable) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread();
  std::byte* memory = thread.block->shared().variable(variable);
  if (memory != nullptr) return memory;
  thread.site = variable.site;
  thread.block->scheduler().abandon(thread.block->finding_of(
      thread, Check::kInvalidLaunch,
      fmt::format(
          "needs {} bytes for shared variable '{}', which is more than {} with the others, or "
          "than {} with {} bytes of dynamic shared memory, too",
          variable.bytes, variable.name, SharedMemory::kStaticBytesMax, SharedMemory::kBytesMax,
          thread.block->shared().dynamic_bytes())));
}

void* dynamic_shared(std::size_t alignment) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread();
  std::byte* memory = thread.block->shared().dynamic(alignment);
  if (memory != nullptr) return memory;
  thread.block->scheduler().abandon(thread.block->finding_of(
      thread, Check::kInvalidLaunch,
      fmt::format("declares dynamic shared memory at a multiple of {} bytes, and of less before",
                  alignment)));
}

void fail(const char* what, const char* detail, Site site) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread();
  thread.site = site;
  thread.block->scheduler().abandon(
      thread.block->finding_of(thread, Check::kAssertion, fmt::format(fmt::runtime(what), detail)));
}

void require_whole_warp(std::uint32_t mask) {
  ThreadBlock& block = *running_thread().block;
  const unsigned warp_begin = running_thread().warp->number * kWarpSize;
  if (mask == 0xffffffff) {
    const auto lanes = std::span<const ThreadState>(block.threads()).subspan(warp_begin, kWarpSize);
    for (const ThreadState& lane : lanes) {
      if (lane.site != lanes[0].site) block.refuse_branches(lane, lanes[0]);
    }
    return;
  }
  const auto lane = static_cast<unsigned>(std::countr_zero(mask));
  const ThreadState& thread = block.threads()[warp_begin + lane];
  block.scheduler().abandon(block.finding_of(
      thread, Check::kWarpMask,
      fmt::format("calls {}, which takes all lanes of a warp, and only {:#010x} are there",
                  thread.operation, mask)));
}

void refuse_shuffle(unsigned lane, unsigned source) {
  ThreadBlock& block = *running_thread().block;
  const ThreadState& thread = block.threads()[running_thread().warp->number * kWarpSize + lane];
  block.scheduler().abandon(
      block.finding_of(thread, Check::kShuffleSource,
                       fmt::format("takes the value of lane {} at {}, which does not take part",
                                   source, thread.operation)));
}

void require_threads_up_to(unsigned most, Site site) {
  if (running_thread().block_dim.count() <= most) return;
  const OutsideKernel outside;
  ThreadState& thread = running_thread();
  thread.site = site;
  thread.block->scheduler().abandon(thread.block->finding_of(
      thread, Check::kInvalidLaunch,
      fmt::format(
          "belongs to a block of {} threads: expected at most {}, as __launch_bounds__ has it",
          thread.block_dim.count(), most)));
}

void refuse_width(int width, Site site) {
  const OutsideKernel outside;
  ThreadState& thread = running_thread();
  thread.site = site;
  thread.block->scheduler().abandon(thread.block->finding_of(
      thread, Check::kShuffleSource,
      fmt::format("shuffles with width {}, expected a power of two from 1 to 32", width)));
}

}  // namespace recto::simt::device
