#pragma once

// The kernels that move K and V about, over a cover of their configurations.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/kernels/device_call.h"

namespace recto::verify {

// What one kernel has left in memory.
struct CacheState {
  std::string kernel = {};
  std::vector<std::byte> bytes = {};  // of K and V, or what a check found
  std::string taint = {};             // as of taint_text()
};

// Case `number`: tokens are written, others appended, with rotary embedding of either form, blocks
// copied, blocks swapped into another layout, and contexts gathered; slots and pairs are looked at,
// and what was found is left as bytes. Rows without a slot, what is overwritten and slots that are
// not addressed are tainted.
std::vector<CacheState> run_cache_case(const KernelRun& how, std::uint64_t number);

}  // namespace recto::verify
