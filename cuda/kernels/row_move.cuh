#pragma once

// Moves one head's row of K or V: the building block of writing, copying and gathering.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "cuda/kernels/block_cursor.cuh"
#include "cuda/kernels/element.cuh"
#include "cuda/kernels/kv_scale.cuh"
#include "cuda/kernels/row_access.cuh"
#include "cuda/kernels/warp.cuh"

namespace recto::kernels {

inline constexpr int kMoveWarps = 4;
inline constexpr int kMoveThreads = kMoveWarps * kWarpLanes;

// One head's row: of K or V in a slot, or of new tokens.
template <typename Access, typename Element>
struct Row {
  Element* data;
  Access access;

  // Only for policies with place_of().
  __device__ Element& at(int dim) const { return data[access.place_of(dim)]; }
};

template <typename Access, typename Element>
__device__ inline Row<Access, const Element> row_of(const RowsView& rows, std::int64_t row,
                                                    std::int64_t head) {
  return {static_cast<const Element*>(rows.data) + row * rows.row_stride + head * rows.head_stride,
          Access::template of<Element>(rows)};
}
template <typename Access, typename Element>
__device__ inline Row<Access, Element> row_of(const MutableRowsView& rows, std::int64_t row,
                                              std::int64_t head) {
  return {static_cast<Element*>(rows.data) + row * rows.row_stride + head * rows.head_stride,
          Access::template of<Element>(rows)};
}
template <typename Access, typename Element>
__device__ inline Row<Access, const Element> row_of(const KvTensorView& tensor, const Slot& slot,
                                                    std::int64_t head) {
  return {static_cast<const Element*>(tensor.data) + head_offsets(tensor, head).of(slot),
          Access::template of<Element>(tensor)};
}
template <typename Access, typename Element>
__device__ inline Row<Access, Element> row_of(const MutableKvTensorView& tensor, const Slot& slot,
                                              std::int64_t head) {
  return {static_cast<Element*>(tensor.data) + head_offsets(tensor, head).of(slot),
          Access::template of<Element>(tensor)};
}

// Called by one warp: each lane moves four neighbouring dims at a time, so a contiguous row is read
// and written contiguously. `scale` is the target's, if it is fp8.
template <typename Access, typename Source, typename Target>
__device__ inline void move_row(const Row<Access, Source>& from, const Row<Access, Target>& to,
                                std::int64_t head_dim, float scale = 1.0F) {
  const int size = static_cast<int>(head_dim);

  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  for (int dim = lane * 4; dim < size; dim += kWarpLanes * 4) {
    const auto values = from.access.load(from.data, dim, size);
    to.access.store(quantise_four<Target>(values, scale), to.data, dim, size);
  }
}

}  // namespace recto::kernels
