#pragma once

// Reserves the prompt and the output length rounded up to a power of two, as if the engine could
// guess an output's length within a factor of two (Orca (Pow2) in the PagedAttention paper).

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "sim/allocators/contiguous_allocator.h"

namespace recto::sim {

class ContiguousPow2 final : public ContiguousAllocator {
 public:
  using ContiguousAllocator::ContiguousAllocator;

 protected:
  TokenCount reservation(const Request& request) const override {
    const auto output = static_cast<std::uint64_t>(request.output_tokens.value());
    const TokenCount rounded(static_cast<std::int64_t>(std::bit_ceil(output)));
    return std::min(request.prompt_tokens + rounded, max_length());
  }
  std::string name() const override { return "contiguous-pow2"; }
};

}  // namespace recto::sim
