#pragma once

// Bytes moved and operations of a step's attention: paged, and by the older baseline, which gathers
// all contexts into one padded batch at each step and computes dense attention.

#include <cstdint>

#include "verify/engine/engine.h"

namespace recto::verify {

// The work of one layer. A number counts as moved when it is read from or written to memory;
// hardware caches are not modelled. A multiply-add counts as two operations; the softmax is not
// counted.
struct AttentionWork {
  std::int64_t gathered_bytes = 0;  // K and V, read block by block and written contiguously
  std::int64_t read_bytes = 0;      // K, V and tables, read by attention itself
  std::int64_t operations = 0;

  friend bool operator==(const AttentionWork&, const AttentionWork&) = default;
};

// Counts each needed key once, and each pair that causal attention sees.
AttentionWork paged_work(const ModelShape& shape, const EngineOptions& options,
                         const EngineStep& step);
// Counts all sequences as if they had the largest context and the largest number of rows.
AttentionWork padded_gather_work(const ModelShape& shape, const EngineOptions& options,
                                 const EngineStep& step);

}  // namespace recto::verify
