#pragma once

// Sequences that generate one random token each per step. The host API writes one pool, the
// reference another.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/attention_views.h"
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

  // This step, with its newest tokens outside the cache. Unwritten slots hold NaN.
  RowsView q() const { return rows(q_, shape_.num_q_heads, shape_.pool.head_dim_k); }
  RowsView new_k() const { return rows(k_, shape_.pool.num_kv_heads, shape_.pool.head_dim_k); }
  RowsView new_v() const { return rows(v_, shape_.pool.num_kv_heads, shape_.pool.head_dim_v); }
  const MutablePagedKvView& pool() const { return pool_.view; }
  BlockTableView block_table() const;  // -1 for missing blocks
  std::span<const std::int32_t> cached_length() const { return cached_length_; }
  std::span<const std::int32_t> context_length() const { return context_length_; }

  // Writes the tokens into the reference's pool, and returns the attention inputs over it.
  PagedAttentionInputs append_by_reference(const AttentionOptions& options);

  // Whether both pools are bit-identical.
  bool has_equal_pools() const;

 private:
  struct Pool {
    explicit Pool(const KvPoolShape& shape);

    std::vector<std::byte> k;
    std::vector<std::byte> v;
    MutablePagedKvView view;
  };

  RowsView rows(const std::vector<std::byte>& memory, std::int64_t heads, std::int64_t dim) const;
  void draw(std::vector<std::byte>& memory);
  void lengthen(std::int64_t sequence);

  const GrowingShape shape_;
  RandomStream random_;
  std::int64_t step_ = -1;
  std::vector<std::byte> q_;  // [num_seqs, num_q_heads, head_dim_k]
  std::vector<std::byte> k_;  // [num_seqs, num_kv_heads, head_dim_k]
  std::vector<std::byte> v_;  // [num_seqs, num_kv_heads, head_dim_v]
  Pool pool_;
  Pool reference_pool_;
  std::vector<std::int32_t> free_blocks_;
  std::vector<std::int32_t> table_;           // [num_seqs, max_blocks]
  std::vector<std::int32_t> cached_length_;   // [num_seqs]
  std::vector<std::int32_t> context_length_;  // [num_seqs]
  std::vector<std::int32_t> query_start_;     // [num_seqs + 1]
};

}  // namespace recto::verify
