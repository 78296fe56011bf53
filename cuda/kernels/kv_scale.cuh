#pragma once

// The scales of fp8 caches: writing divides by a head's scale and reading multiplies by it, in
// fp32. Caches of other types have no scales; nothing is computed or read for them.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/paged_kv_view.h"
#include "cuda/kernels/element.cuh"

namespace recto::kernels {

// The scale of a head of a cache of `Element`.
template <typename Element, typename Pointer>
__device__ inline float scale_of(const BasicKvTensorView<Pointer>& tensor, std::int64_t head) {
  if constexpr (!kIsFp8<Element>) return 1.0F;
  if (tensor.scale.kind == ScaleKind::kNone) return 1.0F;
  return tensor.scale.data[tensor.scale.kind == ScaleKind::kPerKvHead ? head : 0];
}

// The code that is read back as number * scale. The quotient is rounded to nearest even before it
// is converted to a code.
template <typename Cached, typename Number>
__device__ inline Cached quantise(Number number, float scale) {
  if constexpr (kIsFp8<Cached>) {
    return convert<Cached>(convert<float>(number) / scale);
  } else {
    return convert<Cached>(number);
  }
}

template <typename Cached, typename Number>
__device__ inline Four<Cached> quantise_four(const Four<Number>& numbers, float scale) {
  return {{quantise<Cached>(numbers.at[0], scale), quantise<Cached>(numbers.at[1], scale),
           quantise<Cached>(numbers.at[2], scale), quantise<Cached>(numbers.at[3], scale)}};
}

template <typename Cached>
__device__ inline Four<float> dequantise_four(const Four<Cached>& codes, float scale) {
  Four<float> numbers = convert_four<float>(codes);
  if constexpr (kIsFp8<Cached>) {
    for (float& number : numbers.at) number *= scale;
  }
  return numbers;
}

}  // namespace recto::kernels
