#pragma once

// The baseline of old beside paged attention: at each step gather all blocks of all sequences into
// one padded batch, then attend densely. Beside the result, what it moves and computes.

#include <cstdint>
#include <vector>

#include "core/attention_views.h"
#include "reference/paged_attention.h"

namespace recto::verify {

// Of one layer. A number is moved when memory gives it or takes it; what a cache of the hardware
// catches is not known here. A product and its addition are two operations; those of the softmax
// are not counted.
struct AttentionWork {
  std::int64_t gathered_bytes = 0;  // K and V, read block by block and written side by side
  std::int64_t read_bytes = 0;      // K and V, and tables, by attention itself
  std::int64_t operations = 0;

  std::int64_t bytes() const { return gathered_bytes + read_bytes; }
  AttentionWork& operator+=(const AttentionWork& other);

  friend bool operator==(const AttentionWork&, const AttentionWork&) = default;
};

// Rows that each sequence computes, and its context with them.
struct SequenceWork {
  std::int64_t rows = 0;
  std::int64_t context = 0;
};

struct WorkShape {
  std::int64_t num_q_heads = 1;
  std::int64_t num_kv_heads = 1;
  std::int64_t head_dim = 1;
  std::int64_t element_bytes = 4;
  std::int64_t block_size = 16;
};

// Each key that is needed once, each pair that causal attention sees.
AttentionWork paged_work(const WorkShape& shape, const std::vector<SequenceWork>& step);
// All as long as the longest, with as many rows as the most.
AttentionWork padded_gather_work(const WorkShape& shape, const std::vector<SequenceWork>& step);

struct PaddedGather {
  reference::AttentionResult result;
  AttentionWork work;  // as it was counted on the way
};

// Without options but the scale and causality. In fp64.
PaddedGather padded_gather_attention(const PagedAttentionInputs& inputs);

}  // namespace recto::verify
