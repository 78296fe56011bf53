#pragma once

// From types and strides that are known when a launch is asked for to the instantiation that serves
// them. Host code.

#include <kernel_dialect.h>

#include <algorithm>
#include <cstdint>

#include "core/attention_views.h"
#include "core/element_type.h"
#include "core/paged_kv_view.h"
#include "cuda/kernels/element.cuh"

namespace recto::kernels {

// What no grid can have becomes one that every launch refuses.
inline dim3 grid_of(std::int64_t x, std::int64_t y = 1, std::int64_t z = 1) {
  const auto extent = [](std::int64_t count) {
    return static_cast<unsigned>(std::min<std::int64_t>(count, UINT32_MAX));
  };
  return dim3(extent(x), extent(y), extent(z));
}

template <typename T>
struct TypeTag {
  using Type = T;
};

// call(TypeTag<Element>) for what `type` stands for.
template <typename Call>
KernelStatus with_element(ElementType type, const Call& call) {
  switch (type) {
    case ElementType::kFp32:
      return call(TypeTag<float>());
    case ElementType::kFp16:
      return call(TypeTag<__half>());
    case ElementType::kBf16:
      return call(TypeTag<__nv_bfloat16>());
    case ElementType::kE4m3:
    case ElementType::kE5m2:
      break;
  }
  return {"type: expected fp32, fp16 or bf16"};
}

// The same for those that copy elements and do not look at them.
template <typename Call>
KernelStatus with_element_of_size(std::int64_t bytes, const Call& call) {
  if (bytes == 4) return call(TypeTag<std::uint32_t>());
  if (bytes == 2) return call(TypeTag<std::uint16_t>());
  return call(TypeTag<std::uint8_t>());
}

template <typename Pointer>
bool has_packs(const BasicPagedKvView<Pointer>& kv) {
  return kv.k.layout == KvLayout::kPacked || kv.v.layout == KvLayout::kPacked;
}

// Whether all rows begin at a multiple of four elements and end there.
inline bool has_rows_of_four(const void* data, ElementType type, std::int64_t dims_and_strides) {
  const auto bytes = static_cast<std::uintptr_t>(4 * element_bytes(type));
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0 && dims_and_strides % 4 == 0;
}

// (The bits of all sizes together are a multiple of four where each of them is.)
template <typename Pointer>
bool has_rows_of_four(const BasicKvTensorView<Pointer>& tensor) {
  return has_rows_of_four(
      tensor.data, tensor.type,
      tensor.head_dim | tensor.block_stride | tensor.head_stride | tensor.slot_stride);
}

template <typename Pointer>
bool has_rows_of_four(const BasicRowsView<Pointer>& rows) {
  return has_rows_of_four(rows.data, rows.type, rows.head_dim | rows.row_stride | rows.head_stride);
}

// call(TypeTag<Access>): fours where all rows of all views allow them.
template <typename Call, typename... Views>
KernelStatus with_access(const Call& call, const Views&... views) {
  if ((has_rows_of_four(views) && ...)) return call(TypeTag<Fours>());
  return call(TypeTag<Singles>());
}

}  // namespace recto::kernels
