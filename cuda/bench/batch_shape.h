#pragma once

// The batch of one benchmark: sizes, types and lengths, and figures that follow from them by
// arithmetic. Host code, so that its counts are tested without a GPU.

#include <cstdint>
#include <vector>

#include "core/element_type.h"
#include "core/paged_kv_view.h"

namespace recto::bench {

enum class Lengths : std::uint8_t {
  kEqual,
  kSkewed,  // lengths in turn of all, 1/2, 1/4, ... of context_length, in groups of eight
};

enum class Placement : std::uint8_t {
  kScattered,
  kContiguous,  // one block per sequence, as large as context_length; block_size is unused
};

struct BatchShape {
  std::int64_t num_seqs = 1;
  std::int64_t context_length = 1024;  // of the longest sequence
  std::int64_t rows_per_seq = 1;       // the last ones of each sequence
  std::int64_t num_kv_heads = 8;
  std::int64_t group = 4;
  std::int64_t head_dim = 128;
  std::int64_t block_size = 16;
  ElementType q_type = ElementType::kBf16;
  ElementType kv_type = ElementType::kBf16;
  KvLayout layout = KvLayout::kHeadMajor;
  Lengths lengths = Lengths::kEqual;
  Placement placement = Placement::kScattered;

  std::int64_t num_q_heads() const { return num_kv_heads * group; }
  std::int64_t num_rows() const { return num_seqs * rows_per_seq; }
  std::int64_t slots_per_block() const {
    return placement == Placement::kContiguous ? context_length : block_size;
  }
  std::int64_t length_of(std::int64_t sequence) const;
  std::int64_t blocks_of(std::int64_t sequence) const;
  std::int64_t max_blocks() const { return blocks_of(0); }  // of the longest sequence, the first

  std::int64_t num_tokens() const;       // of all contexts
  std::int64_t num_blocks() const;       // of all block tables
  std::int64_t tensor_bytes() const;     // of K's pool; of V's as well
  std::int64_t row_bytes() const;        // of q; of out as well
  std::int64_t token_bytes() const;      // of K of one token in all heads; of V as well
  std::int64_t new_token_bytes() const;  // the same in q's type, before it is written
  std::int64_t allocated_bytes() const;  // all device tensors of a batch, except for some kB
};

// How many batches of a shape take turns: as many as fill 2 GiB, at least one, at most `most`.
std::int64_t turning_batches(const BatchShape& shape, std::int64_t most);

}  // namespace recto::bench
