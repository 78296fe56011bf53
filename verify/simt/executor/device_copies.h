#pragma once

// What kernels call of the executor, by way of the dialect, to copy in the background and to wait
// for it. All by the running thread; what is wrong is a finding at `site`.

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

// Addresses of shared memory in 32 bits, as PTX has them: from where the thread block's begins.
// What is not in shared memory is a finding; an offset may be any, and is looked at when it is
// used.
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
// Lets others run if the phase has not ended.
bool test_mbarrier(std::uint64_t* mbarrier, unsigned parity, const Call& call);
void wait_at_mbarrier(std::uint64_t* mbarrier, unsigned parity, const Call& call);

// cp.async.bulk from global to shared memory; bytes is a multiple of 16, and nothing is filled.
void begin_bulk_copy(const CopyRequest& request, std::uint64_t* mbarrier, const Call& call);

// fence.proxy.async: nothing to do here, and counted.
void fence_async_proxy();

}  // namespace recto::simt::device
