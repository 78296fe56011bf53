#pragma once

// The old baseline for paged attention: at each step, gather all blocks of all sequences into one
// padded batch, then attend densely. Besides the result, it counts what is moved and computed.

#include <cstdint>
#include <vector>

#include "core/attention_views.h"
#include "reference/paged_attention.h"

namespace recto::verify {

// The work of one layer. A number counts as moved when it is read from or written to memory;
// hardware caches are not modelled. A product and its addition are two operations; those of the
// softmax are not counted.
struct AttentionWork {
  std::int64_t gathered_bytes = 0;  // K and V, read block by block and written side by side
  std::int64_t read_bytes = 0;      // K and V, and tables, by attention itself
  std::int64_t operations = 0;

  std::int64_t bytes() const { return gathered_bytes + read_bytes; }
  AttentionWork& operator+=(const AttentionWork& other);

  friend bool operator==(const AttentionWork&, const AttentionWork&) = default;
};

// The rows that a sequence computes, and its context including them.
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

// Counts each needed key once, and each pair that causal attention sees.
AttentionWork paged_work(const WorkShape& shape, const std::vector<SequenceWork>& step);
// Counts all sequences as long as the longest, with as many rows as the largest number.
AttentionWork padded_gather_work(const WorkShape& shape, const std::vector<SequenceWork>& step);

struct PaddedGather {
  reference::AttentionResult result;
  AttentionWork work;  // as it was counted on the way
};

// Supports no options except the scale and causality. In fp64.
PaddedGather padded_gather_attention(const PagedAttentionInputs& inputs);

}  // namespace recto::verify
