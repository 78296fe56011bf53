#pragma once

// Policies for access to a head's row, four neighbouring dims at a time, wherever a layout puts
// them. dispatch.cuh chooses the policy of a kernel. Each has
//
//   of<Element>(view)                   the policy for that view's rows
//   load(row, dim, head_dim)            elements [dim, dim + 4) of a row, zeros beyond its end
//   store(values, row, dim, head_dim)   likewise; nothing is written beyond the row's end
//
// No bit of a result depends on the policy: sums are formed in the same order.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "cuda/kernels/element.cuh"

namespace recto::kernels {

// Whether every group of four dims that starts at a multiple of four is contiguous, at a multiple
// of its size.
__host__ __device__ inline bool lies_in_fours(const void* data, std::int64_t element_bytes,
                                              std::int64_t dims_and_strides) {
  const auto bytes = static_cast<std::uintptr_t>(4 * element_bytes);
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0 && dims_and_strides % 4 == 0;
}

// (The bitwise OR of all sizes is a multiple of four if each of them is.)
template <typename Pointer>
__host__ __device__ inline bool lies_in_fours(const BasicKvTensorView<Pointer>& tensor,
                                              std::int64_t element_bytes) {
  return lies_in_fours(tensor.data, element_bytes,
                       tensor.head_dim | tensor.block_stride | tensor.head_stride |
                           tensor.slot_stride | tensor.pack_width | tensor.pack_stride);
}

template <typename Pointer>
__host__ __device__ inline bool lies_in_fours(const BasicRowsView<Pointer>& rows,
                                              std::int64_t element_bytes) {
  return lies_in_fours(rows.data, element_bytes,
                       rows.head_dim | rows.row_stride | rows.head_stride);
}

// Four at a time by one instruction: rows are contiguous, aligned, and a multiple of four long.
struct Fours {
  template <typename Element, typename View>
  __device__ static Fours of(const View& /*view*/) {
    return {};
  }
  template <typename Element>
  __device__ static Four<Element> load(const Element* row, int dim, int /*head_dim*/) {
    return *reinterpret_cast<const Four<Element>*>(row + dim);
  }
  template <typename Element>
  __device__ static void store(const Four<Element>& values, Element* row, int dim,
                               int /*head_dim*/) {
    *reinterpret_cast<Four<Element>*>(row + dim) = values;
  }
};

// One by one, for all other contiguous rows.
struct Singles {
  template <typename Element, typename View>
  __device__ static Singles of(const View& /*view*/) {
    return {};
  }
  template <typename Element>
  __device__ static Four<Element> load(const Element* row, int dim, int head_dim) {
    Four<Element> values = {};
    for (int i = 0; i < 4; ++i) {
      if (dim + i < head_dim) values.at[i] = row[dim + i];
    }
    return values;
  }
  template <typename Element>
  __device__ static void store(const Four<Element>& values, Element* row, int dim, int head_dim) {
    for (int i = 0; i < 4; ++i) {
      if (dim + i < head_dim) row[dim + i] = values.at[i];
    }
  }
};

// Rows in packs of 2^shift dims, with `stride` elements from one pack to the next; alignment is
// checked when the policy is made. Also accesses contiguous rows, which are a single pack.
struct Packs {
  static constexpr int kOnePack = 31;

  int shift;
  bool has_fours;
  std::int64_t stride;

  template <typename Element, typename Pointer>
  __device__ static Packs of(const BasicKvTensorView<Pointer>& tensor) {
    const auto width = static_cast<int>(tensor.pack_width);
    return {width == 0 ? kOnePack : __ffs(width) - 1, lies_in_fours(tensor, sizeof(Element)),
            tensor.pack_stride};
  }
  template <typename Element, typename Pointer>
  __device__ static Packs of(const BasicRowsView<Pointer>& rows) {
    return {kOnePack, lies_in_fours(rows, sizeof(Element)), 0};
  }

  // Offset of a dim, in elements from the row's first one.
  __device__ std::int64_t place_of(int dim) const {
    return (dim >> shift) * stride + (dim & static_cast<int>((1U << shift) - 1));
  }

  template <typename Element>
  __device__ Four<Element> load(const Element* row, int dim, int head_dim) const {
    if (has_fours) return *reinterpret_cast<const Four<Element>*>(row + place_of(dim));
    Four<Element> values = {};
    for (int i = 0; i < 4; ++i) {
      if (dim + i < head_dim) values.at[i] = row[place_of(dim + i)];
    }
    return values;
  }
  template <typename Element>
  __device__ void store(const Four<Element>& values, Element* row, int dim, int head_dim) const {
    if (has_fours) {
      *reinterpret_cast<Four<Element>*>(row + place_of(dim)) = values;
      return;
    }
    for (int i = 0; i < 4; ++i) {
      if (dim + i < head_dim) row[place_of(dim + i)] = values.at[i];
    }
  }
};

}  // namespace recto::kernels
