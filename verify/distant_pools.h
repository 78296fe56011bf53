#pragma once

// A call over the same blocks in pools that are far wider: most of their blocks lie beyond 2^31
// elements and the last ones beyond 2^32 bytes, in address space of which few pages are ever used.

#include <cstddef>
#include <memory>

#include "core/attention_views.h"
#include "core/status.h"

namespace recto::verify {

// Owns the pools; inputs() points into them, and for all else into what it was made of.
class DistantPools {
 public:
  // Pools of two blocks at least. Each block keeps its id and its bytes, gaps included; what lies
  // between blocks is zero. Block ids from half of the pool on lie beyond 2^31 elements. Failed
  // where the system gives no addresses: 24 GiB for each pool of two blocks in fp32.
  static Result<std::unique_ptr<const DistantPools>> create(const PagedAttentionInputs& inputs);
  DistantPools(const DistantPools&) = delete;
  DistantPools& operator=(const DistantPools&) = delete;
  ~DistantPools();

  const PagedAttentionInputs& inputs() const { return inputs_; }

 private:
  struct Mapping {
    void* data = nullptr;
    std::size_t bytes = 0;
  };

  explicit DistantPools(const PagedAttentionInputs& inputs) : inputs_(inputs) {}
  static Status spread(KvTensorView& pool, Mapping& mapping);

  PagedAttentionInputs inputs_;
  Mapping mappings_[2];
};

}  // namespace recto::verify
