#include "verify/simt/executor/device_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

#include "verify/simt/executor/launch.h"
#include "verify/simt/executor/observer.h"
#include "verify/simt/executor/scheduler.h"

namespace recto::simt::device {
namespace {

constexpr std::size_t kBulkAlignment = 16;

ThreadState& arrive_at(const Call& call) {
  ThreadState& thread = running_thread_at(call.site);
  thread.operation = call.name;
  return thread;
}

bool is_aligned(const void* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

void require_aligned_source(const ThreadState& thread, const CopyRequest& request,
                            std::size_t alignment) {
  if (is_aligned(request.source, alignment)) return;
  thread.refuse(Check::kMisaligned,
                fmt::format("calls {} from {}, which is not a multiple of {} bytes",
                            thread.operation, request.source, alignment));
}

// A fault, such as that of a null pointer, must occur where the copy is requested, not at its wait.
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

std::size_t offset_in(const SharedMemory& shared, const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) -
         reinterpret_cast<std::uintptr_t>(shared.memory().data());
}

[[noreturn]] void refuse_address(const ThreadState& thread, const void* address) {
  thread.refuse(Check::kOutOfBounds, fmt::format("calls {} with {}, which is not in shared memory",
                                                 thread.operation, address));
}

}  // namespace

void require_shared(const void* address, std::size_t bytes, std::size_t alignment,
                    const Call& call) {
  const OutsideKernel outside;
  const ThreadState& thread = arrive_at(call);
  const SharedMemory& shared = thread.block->shared();
  const std::size_t at = offset_in(shared, address);
  const SharedMemory::Placed* placed = at < shared.memory().size() ? shared.placed_at(at) : nullptr;
  if (placed == nullptr) refuse_address(thread, address);
  const std::size_t offset = at - placed->offset;
  if (offset + bytes > placed->bytes) {
    thread.refuse(Check::kOutOfBounds,
                  fmt::format("calls {} with {} bytes at {}+{}, which has {} bytes", call.name,
                              bytes, placed->name(), offset, placed->bytes));
  }
  if (!is_aligned(address, alignment)) {
    thread.refuse(Check::kMisaligned,
                  fmt::format("calls {} with {}+{}, which is not a multiple of {} bytes", call.name,
                              placed->name(), offset, alignment));
  }
}

std::uint32_t shared_offset(const void* address, Site site) {
  const OutsideKernel outside;
  const ThreadState& thread = arrive_at({"__cvta_generic_to_shared", site});
  const SharedMemory& shared = thread.block->shared();
  const std::size_t offset = offset_in(shared, address);
  if (offset > shared.memory().size()) refuse_address(thread, address);
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
    thread.refuse(Check::kOutOfBounds, fmt::format("calls {} to read {} bytes: expected at most {}",
                                                   call.name, request.source_bytes, request.bytes));
  }
  probe(thread, request);
  const AsyncCopy copy = copy_of(request, call, __builtin_return_address(0));
  thread.copies.push_back({copy, thread.copy_group});
  Observer* observer = thread.block->launch().observer;
  if (observer != nullptr) observer->begin_copy(thread, copy);
}

void commit_copies() { ++running_thread().copy_group; }

void wait_for_copies(unsigned groups_left, const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = arrive_at(call);
  const auto end = std::ranges::find_if_not(
      thread.copies, [&](const auto& one) { return one.group + groups_left < thread.copy_group; });
  for (auto one = thread.copies.begin(); one != end; ++one) thread.deliver(one->copy);
  thread.copies.erase(thread.copies.begin(), end);
}

void wait_for_all_copies(const Call& call) {
  commit_copies();
  wait_for_copies(0, call);
}

void begin_bulk_copy(const CopyRequest& request, std::uint64_t* mbarrier, const Call& call) {
  const OutsideKernel outside;
  ThreadState& thread = arrive_at(call);
  if (request.bytes == 0 || request.bytes % kBulkAlignment != 0) {
    thread.refuse(Check::kMisaligned,
                  fmt::format("calls {} for {} bytes: expected a multiple of {}", call.name,
                              request.bytes, kBulkAlignment));
  }
  require_shared(request.destination, request.bytes, kBulkAlignment, call);
  require_aligned_source(thread, request, kBulkAlignment);
  probe(thread, request);
  require_shared(mbarrier, sizeof *mbarrier, sizeof *mbarrier, call);
  thread.block->mbarriers().begin_copy(thread, mbarrier,
                                       copy_of(request, call, __builtin_return_address(0)));
}

void fence_async_proxy() { ++running_thread().block->launch().proxy_fences; }

}  // namespace recto::simt::device
