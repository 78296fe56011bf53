#pragma once

// Asynchronous copies, as in cuda/kernels/dialect/kernel_ptx.h, which documents each function.
// Bytes arrive as late as allowed: at the wait that covers them.

#include <cstdint>

#include "verify/simt/dialect/copy_request.h"
#include "verify/simt/dialect/simt_warp.h"
#include "verify/simt/executor/device_copies.h"

#define RECTO_SIMT_COPY_ASYNC(name, bytes)                                                        \
  inline void name(void* shared, const void* global, unsigned source_bytes, RECTO_SIMT_SITE) {    \
    ::recto::simt::device::begin_copy(                                                            \
        ::recto::simt::device::copy_request(shared, global, bytes, source_bytes), {#name, site}); \
  }                                                                                               \
  inline void name(void* shared, const void* global, RECTO_SIMT_SITE) {                           \
    name(shared, global, bytes, site);                                                            \
  }
RECTO_SIMT_COPY_ASYNC(copy_async_4, 4)
RECTO_SIMT_COPY_ASYNC(copy_async_8, 8)
RECTO_SIMT_COPY_ASYNC(copy_async_16, 16)
#undef RECTO_SIMT_COPY_ASYNC

inline void commit_copies() { recto::simt::device::commit_copies(); }

template <int kGroupsLeft>
inline void wait_for_copies(RECTO_SIMT_SITE) {
  static_assert(kGroupsLeft >= 0);
  recto::simt::device::wait_for_copies(kGroupsLeft, {"wait_for_copies", site});
}
inline void wait_for_all_copies(RECTO_SIMT_SITE) {
  recto::simt::device::wait_for_all_copies({"wait_for_all_copies", site});
}

using Mbarrier = std::uint64_t;
inline constexpr bool kHasBulkCopies = true;
inline constexpr bool kHasWarpgroupProducts = false;

inline void init_mbarrier(Mbarrier* mbarrier, unsigned arrivals, RECTO_SIMT_SITE) {
  recto::simt::device::init_mbarrier(mbarrier, arrivals, {"init_mbarrier", site});
}
inline void invalidate_mbarrier(Mbarrier* mbarrier, RECTO_SIMT_SITE) {
  recto::simt::device::invalidate_mbarrier(mbarrier, {"invalidate_mbarrier", site});
}
inline void arrive_at_mbarrier(Mbarrier* mbarrier, RECTO_SIMT_SITE) {
  recto::simt::device::arrive_at_mbarrier(mbarrier, 0, {"arrive_at_mbarrier", site});
}
inline void arrive_expecting(Mbarrier* mbarrier, unsigned bytes, RECTO_SIMT_SITE) {
  recto::simt::device::arrive_at_mbarrier(mbarrier, bytes, {"arrive_expecting", site});
}
inline bool try_mbarrier(Mbarrier* mbarrier, unsigned parity, RECTO_SIMT_SITE) {
  return recto::simt::device::test_mbarrier(mbarrier, parity, {"try_mbarrier", site});
}
inline void wait_at_mbarrier(Mbarrier* mbarrier, unsigned parity, RECTO_SIMT_SITE) {
  recto::simt::device::wait_at_mbarrier(mbarrier, parity, {"wait_at_mbarrier", site});
}

inline void fence_async_proxy() { recto::simt::device::fence_async_proxy(); }

inline void copy_bulk(void* shared, const void* global, unsigned bytes, Mbarrier* mbarrier,
                      RECTO_SIMT_SITE) {
  recto::simt::device::begin_bulk_copy(
      recto::simt::device::copy_request(shared, global, bytes, bytes), mbarrier,
      {"copy_bulk", site});
}
