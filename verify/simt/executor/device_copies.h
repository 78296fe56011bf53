#pragma once

// The executor's functions for asynchronous copies and for waiting for them, which kernels call
// through the dialect. Always called by the running thread; misuse is a finding at `site`.

#include <cstddef>
#include <cstdint>

#include "verify/simt/executor/kernel_thread.h"

namespace recto::simt::device {

// One instruction that touches memory for a thread.
struct Call {
  const char* name = "";
  Site site = {};
};

// [address, address + bytes) must lie in one variable of shared memory.
void require_shared(const void* address, std::size_t bytes, std::size_t alignment,
                    const Call& call);

// 32-bit addresses of shared memory, as in PTX: relative to the beginning of the thread block's. An
// address outside shared memory is a finding; any offset is accepted, and checked when it is used.
std::uint32_t shared_offset(const void* address, Site site);
void* shared_pointer(std::uint64_t offset);

struct CopyRequest {
  void* destination = nullptr;  // in shared memory
  const void* source = nullptr;
  std::size_t bytes = 0;         // written, a power of two
  std::size_t source_bytes = 0;  // read; the rest is filled with zeros
};

// cp.async, cp.async.commit_group, cp.async.wait_group, cp.async.wait_all
void begin_copy(const CopyRequest& request, const Call& call);
void commit_copies();
void wait_for_copies(unsigned groups_left, const Call& call);
void wait_for_all_copies(const Call& call);

// mbarrier.init, .inval, .arrive (with .expect_tx if bytes > 0), .test_wait.parity
void init_mbarrier(std::uint64_t* mbarrier, unsigned arrivals, const Call& call);
void invalidate_mbarrier(std::uint64_t* mbarrier, const Call& call);
void arrive_at_mbarrier(std::uint64_t* mbarrier, unsigned bytes, const Call& call);
// Lets other threads run if the phase has not ended.
bool test_mbarrier(std::uint64_t* mbarrier, unsigned parity, const Call& call);
void wait_at_mbarrier(std::uint64_t* mbarrier, unsigned parity, const Call& call);

// cp.async.bulk from global to shared memory; bytes is a multiple of 16, and there is no zero fill.
void begin_bulk_copy(const CopyRequest& request, std::uint64_t* mbarrier, const Call& call);

// fence.proxy.async: has no effect here, but is counted.
void fence_async_proxy();

}  // namespace recto::simt::device
