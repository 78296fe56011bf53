#pragma once

// Reserves the longest context that the engine serves, whatever the request needs: the state of the
// art before iteration-level knowledge of lengths (Orca (Max) in the PagedAttention paper).

#include <string>

#include "sim/allocators/contiguous_allocator.h"

namespace recto::sim {

class ContiguousMax final : public ContiguousAllocator {
 public:
  using ContiguousAllocator::ContiguousAllocator;

 protected:
  TokenCount reservation(const Request& request) const override {
    static_cast<void>(request);
    return max_length();
  }
  std::string name() const override { return "contiguous-max"; }
};

}  // namespace recto::sim
