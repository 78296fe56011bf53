#pragma once

// Reserves exactly what the sequence will fill, as if the engine knew the output length in advance
// (Orca (Oracle) in the PagedAttention paper): the best that contiguous regions could do.

#include <string>

#include "sim/allocators/contiguous_allocator.h"

namespace recto::sim {

class ContiguousOracle final : public ContiguousAllocator {
 public:
  using ContiguousAllocator::ContiguousAllocator;

 protected:
  TokenCount reservation(const Request& request) const override { return request.final_context(); }
  std::string name() const override { return "contiguous-oracle"; }
};

}  // namespace recto::sim
