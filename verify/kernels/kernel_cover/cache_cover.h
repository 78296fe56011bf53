#pragma once

// The kernels that move K and V, over a cover of their configurations.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/kernels/device_call.h"

namespace recto::verify {

// The memory contents that one kernel left.
struct CacheState {
  std::string kernel = {};
  std::vector<std::byte> bytes = {};  // of K and V, or the findings of a check
  std::string taint = {};             // from taint_text()
};

// Case `number`: writes tokens, appends others with either form of rotary embedding, copies blocks,
// swaps blocks into another layout, and gathers contexts; checks slots and pairs, and returns the
// findings as bytes. Rows without a slot, data to be overwritten, and unaddressed slots are
// tainted.
std::vector<CacheState> run_cache_case(const KernelRun& how, std::uint64_t number);

}  // namespace recto::verify
