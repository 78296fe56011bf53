#include "verify/simt/executor/device_copies.h"

#include <fmt/format.h>

#include <span>
#include <string>

#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/observer.h"
#include "verify/simt/executor/scheduler.h"

namespace recto::simt::device {
namespace {

constexpr std::size_t kBulkAlignment = 16;

ThreadState& arrive_at(const Call& call) {
  ThreadState& thread = running_thread();
  thread.operation = call.name;
  thread.site = call.site;
  return thread;
}

[[noreturn]] void refuse(const ThreadState& thread, Check check, std::string what) {
  thread.block->scheduler().abandon(thread.block->finding_of(thread, check, std::move(what)));
}

std::string name_of(const SharedMemory::Placed& placed) {
  return placed.variable == nullptr ? "dynamic shared memory" : placed.variable->name;
}

// The variable that contains an address or, if the address is in a gap, the one before it; null if
// none.
const SharedMemory::Placed* placed_at(const SharedMemory& shared, const std::byte* address) {
  const std::byte* begin = shared.memory().data();
  if (address < begin || address >= begin + shared.memory().size()) return nullptr;
  const SharedMemory::Placed* before = nullptr;
  for (const SharedMemory::Placed& placed : shared.placed()) {
    if (begin + placed.offset <= address) before = &placed;
  }
  return before;
}

bool is_aligned(const void* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

void require_aligned_source(const ThreadState& thread, const CopyRequest& request,
                            std::size_t alignment) {
  if (is_aligned(request.source, alignment)) return;
  refuse(thread, Check::kMisaligned,
         fmt::format("calls {} from {}, which is no multiple of {} bytes", thread.operation,
                     request.source, alignment));
}

// A fault must occur where the copy is requested, not at its wait; also that of a null pointer.
__attribute__((no_sanitize("undefined"))) void probe(ThreadState& thread,
                                                     const CopyRequest& request) {
  if (request.source_bytes == 0) return;
  const auto* source = static_cast<const volatile std::byte*>(request.source);
  thread.is_in_call = true;
  static_cast<void>(source[0]);
  static_cast<void>(source[request.source_bytes - 1]);
  thread.is_in_call = false;
}

AsyncCopy copy_of(const CopyRequest& request, const Call& call, void* instruction) {
  return {.source = request.source,
          .destination = request.destination,
          .bytes = request.source_bytes,
          .destination_bytes = request.bytes,
          .instruction = reinterpret_cast<std::uintptr_t>(instruction),
          .site = call.site};
}

Mbarriers& mbarriers_for(ThreadState& thread, const std::uint64_t* mbarrier, const Call& call) {
  require_shared(mbarrier, sizeof *mbarrier, sizeof *mbarrier, call);
  return thread.block->mbarriers();
}

}  // namespace

void require_shared(const void* address, std::size_t bytes, std::size_t alignment,
                    const Call& call) {
  const OutsideKernel outside;
  const ThreadState& thread = arrive_at(call);
  const SharedMemory& shared = thread.block->shared();
  const auto* at = static_cast<const std::byte*>(address);
  const SharedMemory::Placed* placed = placed_at(shared, at);
  if (placed == nullptr) {
    refuse(thread, Check::kOutOfBounds,
           fmt::format("calls {} with {}, which is not in shared memory", call.name, address));
  }
  const auto offset = static_cast<std::size_t>(at - shared.memory().data()) - placed->offset;
  if (offset + bytes > placed->bytes) {
    refuse(thread, Check::kOutOfBounds,
           fmt::format("calls {} with {} bytes at {}+{}, which has {} bytes", call.name, bytes,
                       name_of(*placed), offset, placed->bytes));
  }
  if (!is_aligned(address, alignment)) {
    refuse(thread, Check::kMisaligned,
           fmt::format("calls {} with {}+{}, which is no multiple of {} bytes", call.name,
                       name_of(*placed), offset, alignment));
  }
}

std::uint32_t shared_offset(const void* address, Site site) {
  const OutsideKernel outside;
  const ThreadState& thread = arrive_at({"__cvta_generic_to_shared", site});
  const std::span<const std::byte> memory = thread.block->shared().memory();
  const auto offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(memory.data());
  if (offset > memory.size()) {
    refuse(
        thread, Check::kOutOfBounds,
        fmt::format("calls {} with {}, which is not in shared memory", thread.operation, address));
  }
  return static_cast<std::uint32_t>(offset);
}

void* shared_pointer(std::uint64_t offset) {
  const auto begin =
      reinterpret_cast<std::uintptr_t>(running_thread().block->shared().memory().data());
  return reinterpret_cast<void*>(begin + offset);
}

void begin_copy(const CopyRequest& request, const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = arrive_at(call);
  require_shared(request.destination, request.bytes, request.bytes, call);
  require_aligned_source(thread, request, request.bytes);
  if (request.source_bytes > request.bytes) {
    refuse(thread, Check::kOutOfBounds,
           fmt::format("calls {} to read {} bytes: expected at most {}", call.name,
                       request.source_bytes, request.bytes));
  }
  probe(thread, request);
  thread.copies.begin(thread, copy_of(request, call, __builtin_return_address(0)));
}

void commit_copies() { running_thread().copies.commit(); }

void wait_for_copies(unsigned groups_left, const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = arrive_at(call);
  thread.copies.wait(thread, groups_left);
}

void wait_for_all_copies(const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = arrive_at(call);
  thread.copies.wait_for_all(thread);
}

void init_mbarrier(std::uint64_t* mbarrier, unsigned arrivals, const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = arrive_at(call);
  mbarriers_for(thread, mbarrier, call).init(thread, mbarrier, arrivals);
}

void invalidate_mbarrier(std::uint64_t* mbarrier, const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = arrive_at(call);
  mbarriers_for(thread, mbarrier, call).invalidate(thread, mbarrier);
}

void arrive_at_mbarrier(std::uint64_t* mbarrier, unsigned bytes, const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = arrive_at(call);
  mbarriers_for(thread, mbarrier, call).arrive(thread, mbarrier, bytes);
}

bool test_mbarrier(std::uint64_t* mbarrier, unsigned parity, const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = arrive_at(call);
  Mbarriers& mbarriers = mbarriers_for(thread, mbarrier, call);
  if (mbarriers.test(thread, mbarrier, parity)) return true;
  thread.block->scheduler().yield(thread);
  return mbarriers.test(thread, mbarrier, parity);
}

void wait_at_mbarrier(std::uint64_t* mbarrier, unsigned parity, const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = arrive_at(call);
  mbarriers_for(thread, mbarrier, call).wait(thread, mbarrier, parity);
}

void begin_bulk_copy(const CopyRequest& request, std::uint64_t* mbarrier, const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = arrive_at(call);
  if (request.bytes == 0 || request.bytes % kBulkAlignment != 0) {
    refuse(thread, Check::kMisaligned,
           fmt::format("calls {} for {} bytes: expected a multiple of {}", call.name, request.bytes,
                       kBulkAlignment));
  }
  require_shared(request.destination, request.bytes, kBulkAlignment, call);
  require_aligned_source(thread, request, kBulkAlignment);
  probe(thread, request);
  mbarriers_for(thread, mbarrier, call)
      .begin_copy(thread, mbarrier, copy_of(request, call, __builtin_return_address(0)));
}

void fence_async_proxy() { ++running_thread().block->launch().proxy_fences; }

}  // namespace recto::simt::device
