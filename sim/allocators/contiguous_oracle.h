#pragma once

// Reserves exactly what the sequence will fill, as if the engine knew the length of the output
// beforehand (Orca (Oracle) in the PagedAttention paper): what contiguous regions could reach.

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
