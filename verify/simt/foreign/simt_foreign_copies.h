#pragma once

// Asynchronous copies in foreign sources: by inline PTX, and by the primitives of
// <cuda_pipeline.h>. Code that is inlined has the kernel's line in messages.

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "verify/simt/dialect/copy_request.h"
#include "verify/simt/executor/device_api.h"
#include "verify/simt/foreign/inline_ptx.h"
#include "verify/simt/foreign/ptx_copies.h"

namespace simt_foreign {

using recto::simt::Site;

[[gnu::always_inline]] inline void begin_copy(void* shared, const void* global, std::size_t bytes,
                                              std::size_t source_bytes,
                                              const recto::simt::device::Call& call) {
  if (bytes != 4 && bytes != 8 && bytes != 16) {
    recto::simt::device::fail("calls {} for a size that is not 4, 8 or 16", call.name, call.site);
  }
  recto::simt::device::begin_copy(
      recto::simt::device::copy_request(shared, global, static_cast<unsigned>(bytes),
                                        static_cast<unsigned>(source_bytes)),
      call);
}

inline std::uint64_t value_of(const PtxElement& term, const PtxOperand* operands) {
  if (term.place < 0) return term.number;
  recto::simt::device::expect_untainted(operands[term.place].bits);
  return operands[term.place].bits + term.number;
}

template <PtxText kText, std::size_t kGiven, std::size_t kIndex>
[[gnu::always_inline]] inline void run_ptx_copy(const PtxOperand* operands, Site site) {
  constexpr PtxCopy kCopy = ptx_copy_at(PtxText(kText).view(), kGiven, kIndex);
  namespace device = recto::simt::device;
  if constexpr (kCopy.kind == PtxCopyKind::kCommit) {
    device::commit_copies();
  } else if constexpr (kCopy.kind == PtxCopyKind::kWaitAll) {
    device::wait_for_all_copies({"cp.async.wait_all", site});
  } else if constexpr (kCopy.kind == PtxCopyKind::kWaitGroup) {
    device::wait_for_copies(static_cast<unsigned>(value_of(kCopy.bytes, operands)),
                            {"cp.async.wait_group", site});
  } else {
    const std::uint64_t bytes = value_of(kCopy.bytes, operands);
    const device::Call call = {kCopy.is_cg ? "cp.async.cg" : "cp.async.ca", site};
    if (kCopy.is_cg && bytes != 16)
      device::fail("calls {} for a size that is not 16", call.name, site);
    begin_copy(device::shared_pointer(value_of(kCopy.destination, operands)),
               reinterpret_cast<const void*>(value_of(kCopy.source, operands)), bytes,
               value_of(kCopy.source_bytes, operands), call);
  }
}

template <PtxText kText>
constexpr std::size_t copies_in(std::size_t given) {
  return count_ptx_copies(PtxText(kText).view(), given);
}

// An asm statement, which translate.py turns into InlinePtx<"...">()(operands...).
template <PtxText kText>
class InlinePtx {
 public:
  explicit InlinePtx(int line = __builtin_LINE(), const char* file = __builtin_FILE())
      : site_{file, line} {}

  template <typename... Operands>
  [[gnu::always_inline]] void operator()(const Operands&... given) const {
    constexpr std::size_t kCopies = copies_in<kText>(sizeof...(given));
    if constexpr (kCopies == 0) {
      inline_ptx<kText>(given...);
    } else {
      // One more element, because there may be no operands.
      const PtxOperand operands[] = {given..., {}};
      run<sizeof...(given)>(operands, std::make_index_sequence<kCopies>());
    }
  }

 private:
  template <std::size_t kGiven, std::size_t... kIndices>
  [[gnu::always_inline]] void run(const PtxOperand* operands,
                                  std::index_sequence<kIndices...>) const {
    (run_ptx_copy<kText, kGiven, kIndices>(operands, site_), ...);
  }

  Site site_;
};

}  // namespace simt_foreign

// Addresses of shared memory as in PTX: relative to the beginning of the thread block's memory.
inline std::size_t __cvta_generic_to_shared(const void* address, int line = __builtin_LINE(),
                                            const char* file = __builtin_FILE()) {
  return recto::simt::device::shared_offset(address, {file, line});
}
inline void* __cvta_shared_to_generic(std::size_t offset) {
  return recto::simt::device::shared_pointer(offset);
}
inline std::size_t __cvta_generic_to_global(const void* address) {
  return reinterpret_cast<std::size_t>(address);
}

[[gnu::always_inline]] inline void __pipeline_memcpy_async(
    void* shared, const void* global, std::size_t bytes, std::size_t zero_filled = 0,
    recto::simt::Site site = {__builtin_FILE(), __builtin_LINE()}) {
  simt_foreign::begin_copy(shared, global, bytes, bytes - zero_filled,
                           {"__pipeline_memcpy_async", site});
}
inline void __pipeline_commit() { recto::simt::device::commit_copies(); }
inline void __pipeline_wait_prior(std::size_t groups, int line = __builtin_LINE(),
                                  const char* file = __builtin_FILE()) {
  recto::simt::device::wait_for_copies(static_cast<unsigned>(groups),
                                       {"__pipeline_wait_prior", {file, line}});
}
