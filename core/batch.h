#pragma once

// A batch in host memory: what a call of attention reads, laid out from a description, with views
// of it. The numbers in q and in the pools are up to the user.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/attention_views.h"

namespace recto {

// The memory of a cache.
struct KvPools {
  std::vector<std::byte> k;
  std::vector<std::byte> v;

  // Views of these pools, with the shape, strides and scales of `layout`.
  MutablePagedKvView over(const PagedKvView& layout);
};

// Pools with the shape and strides of `layout`, whose addresses are not used. Each byte is `fill`.
KvPools filled_pools(const PagedKvView& layout, std::byte fill);

// The pools of a cache, copied: [num_blocks, block_stride] of K and of V.
KvPools copied_pools(const PagedKvView& kv);

// NaN in every type, when it is all bytes of a number.
inline constexpr std::byte kNanByte{0xff};

struct BatchSequence {
  std::int64_t num_rows = 1;  // of queries, the last positions of the context
  std::int64_t context_length = 0;
  std::vector<std::int32_t> blocks = {};  // physical ids, in logical order
};

// Gives the sequences as many blocks as their contexts need: those of `ids`, in order.
void give_blocks(std::span<BatchSequence> sequences, std::int64_t block_size,
                 std::span<const std::int32_t> ids);

// The ids of a pool, neighbours far apart: 37 i modulo `num_blocks`, no multiple of 37.
std::vector<std::int32_t> scattered_ids(std::int64_t num_blocks);

// Sizes of the block table. 0: as many columns as the longest sequence has blocks, at least one;
// and rows without gaps.
struct TableSize {
  std::int64_t max_blocks = 0;
  std::int64_t row_stride = 0;
};

// What calls read about the sequences.
struct BatchLists {
  std::vector<std::int32_t> block_table;  // [num_seqs, row_stride]; -1 beyond a sequence's blocks
  std::vector<std::int32_t> query_start;  // [num_seqs + 1]
  std::vector<std::int32_t> context_length;  // [num_seqs]
  TableSize table_size;

  explicit BatchLists(std::span<const BatchSequence> sequences, TableSize size = {});

  BlockTableView table() const;
  std::int64_t num_rows() const { return query_start.back(); }
};

// The addresses in views and the number of rows are not used.
struct BatchLayout {
  RowsView q = {};
  PagedKvView kv = {};
  std::vector<BatchSequence> sequences = {};
  TableSize table_size = {};
  OwnedAttentionOptions options = {};
  std::vector<float> k_scales = {};  // empty, [1] or [num_kv_heads]
  std::vector<float> v_scales = {};  // the same
  std::byte fill = {};               // of q and of the pools
};

// Owns its memory, which stays in place when the batch moves.
struct Batch {
  explicit Batch(const BatchLayout& layout);
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  Batch(Batch&&) = default;

  std::vector<std::byte> q;  // at least one element
  KvPools pools;
  BatchLists lists;
  OwnedAttentionOptions options;
  std::vector<float> k_scales;
  std::vector<float> v_scales;
  MutablePagedKvView kv;        // of the pools
  PagedAttentionInputs inputs;  // of all that is above
};

}  // namespace recto
