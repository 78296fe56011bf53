#pragma once

// What a step's attention moves and computes: paged, and by the old baseline, which gathers all
// contexts into one padded batch at each step and attends densely.

#include <cstdint>

#include "verify/engine/engine.h"

namespace recto::verify {

// The work of one layer. A number counts as moved when it is read from or written to memory;
// hardware caches are not modelled. A product and its addition are two operations; those of the
// softmax are not counted.
struct AttentionWork {
  std::int64_t gathered_bytes = 0;  // K and V, read block by block and written side by side
  std::int64_t read_bytes = 0;      // K and V, and tables, by attention itself
  std::int64_t operations = 0;

  friend bool operator==(const AttentionWork&, const AttentionWork&) = default;
};

// Counts each needed key once, and each pair that causal attention sees.
AttentionWork paged_work(const ModelShape& shape, const EngineOptions& options,
                         const EngineStep& step);
// Counts all sequences as long as the longest, with as many rows as the largest number.
AttentionWork padded_gather_work(const ModelShape& shape, const EngineOptions& options,
                                 const EngineStep& step);

}  // namespace recto::verify
