#pragma once

// From types and strides that are known when a launch is asked for to the instantiation that serves
// them. Host code.

#include <kernel_dialect.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "core/attention_views.h"
#include "core/element_type.h"
#include "core/paged_kv_view.h"
#include "cuda/kernels/row_access.cuh"

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

template <typename Call>
KernelStatus with_fp8(ElementType type, const Call& call) {
  if (type == ElementType::kE4m3) return call(TypeTag<__nv_fp8_e4m3>());
  if (type == ElementType::kE5m2) return call(TypeTag<__nv_fp8_e5m2>());
  return {"type: expected e4m3 or e5m2"};
}

// The types of q and of the cache that attention is computed for.
inline bool are_attended(ElementType q, ElementType cached) {
  return (q == cached && !is_fp8(q)) || (element_bytes(q) == 2 && is_fp8(cached));
}

// call(TypeTag<Query>, TypeTag<Cached>) for such a pair.
template <typename Call>
KernelStatus with_attended(ElementType q, ElementType cached, const Call& call) {
  return with_element(q, [&](auto query) -> KernelStatus {
    if (q == cached) return call(query, query);
    if constexpr (std::is_same_v<decltype(query), TypeTag<float>>) {
      return {"kv.k.type: expected q's, which is fp32"};
    } else {
      return with_fp8(cached, [&](auto code) { return call(query, code); });
    }
  });
}

// call(TypeTag<Source>, TypeTag<Cached>) for rows that are written into a cache: as they are, fp32
// rounded to 16 bits, or any type to fp8.
template <typename Call>
KernelStatus with_written(ElementType source, ElementType cached, const Call& call) {
  if (is_fp8(cached)) {
    return with_element(source, [&](auto number) {
      return with_fp8(cached, [&](auto code) { return call(number, code); });
    });
  }
  return with_element(cached, [&](auto number) {
    if (source == cached) return call(number, number);
    return call(TypeTag<float>(), number);
  });
}

// The same for those that copy elements and do not look at them.
template <typename Call>
KernelStatus with_element_of_size(std::int64_t bytes, const Call& call) {
  if (bytes == 4) return call(TypeTag<std::uint32_t>());
  if (bytes == 2) return call(TypeTag<std::uint16_t>());
  return call(TypeTag<std::uint8_t>());
}

template <typename Pointer>
bool is_packed(const BasicKvTensorView<Pointer>& tensor) {
  return tensor.layout == KvLayout::kPacked;
}
template <typename Pointer>
bool is_packed(const BasicRowsView<Pointer>& /*rows*/) {
  return false;
}

// Packs hold a power of two: those of 16 bytes, and those of one element, do.
template <typename Pointer>
bool has_served_packs(const BasicKvTensorView<Pointer>& tensor) {
  return !is_packed(tensor) || std::has_single_bit(static_cast<std::uint64_t>(tensor.pack_width));
}

// What no kernel serves of a cache, or null.
template <typename Pointer>
const char* why_not_reached(const BasicPagedKvView<Pointer>& kv) {
  if (has_served_packs(kv.k) && has_served_packs(kv.v)) return nullptr;
  return "kv.k.pack_width, kv.v.pack_width: expected powers of two";
}

// What is not served of rows to be written into a cache, or null.
inline const char* why_not_written(const RowsView& k, const RowsView& v,
                                   const MutablePagedKvView& kv) {
  const ElementType source = k.type;
  const ElementType cached = kv.k.type;
  if (is_fp8(source) || v.type != source) {
    return "k.type, v.type: expected the same, fp32, fp16 or bf16";
  }
  if (kv.v.type != cached) return "kv.v.type: expected that of kv.k";
  if (source != cached && source != ElementType::kFp32 && !is_fp8(cached)) {
    return "kv.k.type: expected e4m3, e5m2 or that of the rows, which are not fp32";
  }
  return why_not_reached(kv);
}

// call(TypeTag<Access>): fours where all rows of all views allow them.
template <typename Call, typename... Views>
KernelStatus with_access(const Call& call, const Views&... views) {
  if ((is_packed(views) || ...)) return call(TypeTag<Packs>());
  if ((lies_in_fours(views, element_bytes(views.type)) && ...)) return call(TypeTag<Fours>());
  return call(TypeTag<Singles>());
}

}  // namespace recto::kernels
