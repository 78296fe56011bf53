#pragma once

// Sequences that generate one random token each per step. The host API writes one pool, the
// reference another.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/batch.h"
#include "core/dense_kv_view.h"
#include "core/random_stream.h"

namespace recto::verify {

struct GrowingShape {
  KvPoolShape pool = {};  // K and V without scales
  std::int64_t num_seqs = 0;
  std::int64_t num_q_heads = 0;
  std::int64_t max_blocks = 0;
  // Sequence s begins at step s * stagger; before that it is padding, with a cached_length of -1.
  std::int64_t stagger = 0;
};

// Its memory stays in place from step to step, as graphs require.
class GrowingBatch {
 public:
  GrowingBatch(const GrowingShape& shape, std::uint64_t seed);
  GrowingBatch(const GrowingBatch&) = delete;
  GrowingBatch& operator=(const GrowingBatch&) = delete;

  // Draws the next step's tokens, and allocates blocks where their sequences need one, in any order
  // of the pool. Before the first call there is no step.
  void draw_tokens();

  // This step, with its newest tokens outside the cache. Unwritten slots hold NaN; the block table
  // has -1 where a block is missing.
  const RowsView& q() const { return batch_.inputs.q; }
  RowsView new_k() const { return rows(k_, shape_.pool.head_dim_k); }
  RowsView new_v() const { return rows(v_, shape_.pool.head_dim_v); }
  const MutablePagedKvView& pool() const { return batch_.kv; }
  const BlockTableView& block_table() const { return batch_.inputs.block_table; }
  std::span<const std::int32_t> cached_length() const { return cached_length_; }
  std::span<const std::int32_t> context_length() const { return batch_.lists.context_length; }

  // Writes the tokens into the reference's pool, and returns the attention inputs over it.
  PagedAttentionInputs append_by_reference(const AttentionOptions& options);

  // Whether both pools are bit-identical.
  bool has_equal_pools() const;

 private:
  RowsView rows(const std::vector<std::byte>& memory, std::int64_t dim) const;
  void lengthen(std::int64_t sequence);

  const GrowingShape shape_;
  RandomStream random_;
  std::int64_t step_ = -1;
  Batch batch_;  // as the host API reads and writes it
  KvPools reference_pools_;
  std::vector<std::byte> k_;  // [num_seqs, num_kv_heads, head_dim_k]
  std::vector<std::byte> v_;  // [num_seqs, num_kv_heads, head_dim_v]
  std::vector<std::int32_t> free_blocks_;
  std::vector<std::int32_t> cached_length_;  // [num_seqs]
};

}  // namespace recto::verify
