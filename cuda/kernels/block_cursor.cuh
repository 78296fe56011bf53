#pragma once

// Maps a token's position in its sequence to its address: the block table gives the slot, and
// strides give the first element of a head.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/paged_kv_view.h"

namespace recto::kernels {

// The position of a token in any tensor of the cache.
struct Slot {
  std::int64_t block_id;
  std::int64_t offset;  // within the block
};

// Walks through one sequence. Reads the table only at the requested positions.
struct BlockCursor {
  const std::int32_t* block_ids;  // [blocks of the sequence]
  int block_size;

  __device__ Slot slot_of(int position) const {
    return {block_ids[position / block_size], position % block_size};
  }
};

__device__ inline BlockCursor cursor_of(const BlockTableView& table, int block_size,
                                        std::int64_t sequence) {
  return {table.data + sequence * table.row_stride, block_size};
}

// Offsets of slots in one tensor, for one head, in elements from the tensor's first one. Pools may
// have more than 2^31 elements, so arithmetic is 64-bit from the first multiplication on.
struct HeadOffsets {
  std::int64_t head_offset;
  std::int64_t block_stride;
  std::int64_t slot_stride;

  __device__ std::int64_t of(const Slot& slot) const {
    return head_offset + slot.block_id * block_stride + slot.offset * slot_stride;
  }
};

template <typename Pointer>
__device__ inline HeadOffsets head_offsets(const BasicKvTensorView<Pointer>& tensor,
                                           std::int64_t head) {
  return {head * tensor.head_stride, tensor.block_stride, tensor.slot_stride};
}

}  // namespace recto::kernels
