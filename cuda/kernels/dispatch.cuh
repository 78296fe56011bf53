#pragma once

// Selects the instantiation that serves the types and strides of a launch, which are known at run
// time. Host code.

#include <kernel_dialect.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>

#include "core/attention_views.h"
#include "core/element_type.h"
#include "core/paged_kv_view.h"
#include "core/refusal.h"
#include "core/status.h"
#include "cuda/kernels/limits.h"
#include "cuda/kernels/row_access.cuh"

namespace recto::kernels {

// A grid extent that is out of range becomes one that every launch refuses.
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

// Returns call(TypeTag<Element>) for the element type that `type` denotes.
template <typename Call>
Status with_element(ElementType type, const Call& call) {
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
  return refusal("type", "fp32, fp16 or bf16", element_type_name(type));
}

template <typename Call>
Status with_fp8(ElementType type, const Call& call) {
  if (type == ElementType::kE4m3) return call(TypeTag<__nv_fp8_e4m3>());
  if (type == ElementType::kE5m2) return call(TypeTag<__nv_fp8_e5m2>());
  return refusal("type", "e4m3 or e5m2", element_type_name(type));
}

// Whether attention is computed for this pair of types of q and of the cache.
inline bool are_attended(ElementType q, ElementType cached) {
  return (q == cached && !is_fp8(q)) || (element_bytes(q) == 2 && is_fp8(cached));
}

// Returns call(TypeTag<Query>, TypeTag<Cached>) for such a pair of types.
template <typename Call>
Status with_attended(ElementType q, ElementType cached, const Call& call) {
  return with_element(q, [&](auto query) -> Status {
    if (q == cached) return call(query, query);
    if constexpr (std::is_same_v<decltype(query), TypeTag<float>>) {
      return refusal("kv.k.type", "fp32 as in q.type", element_type_name(cached));
    } else {
      return with_fp8(cached, [&](auto code) { return call(query, code); });
    }
  });
}

// Returns call(TypeTag<Source>, TypeTag<Cached>) for rows that are written into a cache: unchanged,
// fp32 rounded to 16 bits, or any type to fp8.
template <typename Call>
Status with_written(ElementType source, ElementType cached, const Call& call) {
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

// Returns call(TypeTag<Code>) for kernels that copy elements without interpreting them.
template <typename Call>
Status with_element_of_size(std::int64_t bytes, const Call& call) {
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

// Packs must hold a power of two of elements, as packs of 16 bytes and of one element do.
template <typename Pointer>
Status check_packs(const char* name, const BasicKvTensorView<Pointer>& tensor) {
  if (!is_packed(tensor) || std::has_single_bit(static_cast<std::uint64_t>(tensor.pack_width))) {
    return Status::ok();
  }
  return refusal(std::string(name) + ".pack_width", "a power of two",
                 std::to_string(tensor.pack_width));
}

// Checks the sizes that kernels count in int.
template <typename Pointer>
Status check_counted(const char* name, const BasicKvTensorView<Pointer>& tensor) {
  RECTO_RETURN_IF_ERROR(expect_at_most({name, "block_size", tensor.block_size}, kBlockSizeMax));
  return expect_at_most({name, "head_dim", tensor.head_dim}, kMovedSizeMax);
}

// Invalid input: caches that no kernel serves.
template <typename Pointer>
Status check_reached(const BasicPagedKvView<Pointer>& kv) {
  RECTO_RETURN_IF_ERROR(check_counted("kv.k", kv.k));
  RECTO_RETURN_IF_ERROR(check_counted("kv.v", kv.v));
  RECTO_RETURN_IF_ERROR(check_packs("kv.k", kv.k));
  return check_packs("kv.v", kv.v);
}

// The type of a view, for comparison with that of another view.
struct NamedType {
  const char* view;
  ElementType type;
};
inline Status expect_same_type(const NamedType& got, const NamedType& other) {
  return expect_equal(Named(got.view, "type", got.type), Named(other.view, "type", other.type));
}

// Requires a numeric type, not fp8 codes.
inline Status expect_number(const NamedType& got) {
  if (element_bytes(got.type) > 1) return Status::ok();
  // A value outside the enum has no name.
  return refusal(
      std::string(got.view) + ".type", "fp32, fp16 or bf16",
      is_fp8(got.type) ? element_type_name(got.type) : std::to_string(static_cast<int>(got.type)));
}

// Invalid input: rows that cannot be written into this cache.
inline Status check_write(const RowsView& k, const RowsView& v, const MutablePagedKvView& kv) {
  const ElementType source = k.type;
  const ElementType cached = kv.k.type;
  RECTO_RETURN_IF_ERROR(expect_number({"k", source}));
  RECTO_RETURN_IF_ERROR(expect_same_type({"v", v.type}, {"k", source}));
  RECTO_RETURN_IF_ERROR(expect_same_type({"kv.v", kv.v.type}, {"kv.k", cached}));
  if (source != cached && source != ElementType::kFp32 && !is_fp8(cached)) {
    return refusal("kv.k.type",
                   std::string("e4m3, e5m2 or ") + element_type_name(source) + " as in k.type",
                   element_type_name(cached));
  }
  return check_reached(kv);
}

// For kernels that read 16 bytes at a time.
inline Status expect_at_chunk(const char* view, const void* data) {
  const std::uintptr_t behind = reinterpret_cast<std::uintptr_t>(data) % 16;
  if (behind == 0) return Status::ok();
  return refusal(std::string(view) + ".data", "an address at a multiple of 16 bytes",
                 std::to_string(behind) + " bytes behind one");
}
inline Status expect_chunks(const NamedSize& stride, ElementType type) {
  const std::int64_t chunk = 16 / element_bytes(type);
  if (stride.value % chunk == 0) return Status::ok();
  return refusal(stride.name(), "a multiple of " + std::to_string(chunk) + ", of 16 bytes",
                 stride.text());
}

// Launches a kernel whose parameters have been checked.
template <typename... Parameters>
Status launch_served(const char* name, const KernelLaunch& how, void (*kernel)(Parameters...),
                     std::type_identity_t<Parameters>... arguments) {
  const KernelStatus status = launch_kernel(name, how, kernel, arguments...);
  return status.error == nullptr ? Status::ok() : Status::failed(status.error).in(name);
}

// Returns call(TypeTag<Access>): Packs if a view is packed, else Fours if all rows of all views
// allow them, else Singles.
template <typename Call, typename... Views>
Status with_access(const Call& call, const Views&... views) {
  if ((is_packed(views) || ...)) return call(TypeTag<Packs>());
  if ((lies_in_fours(views, element_bytes(views.type)) && ...)) return call(TypeTag<Fours>());
  return call(TypeTag<Singles>());
}

}  // namespace recto::kernels
