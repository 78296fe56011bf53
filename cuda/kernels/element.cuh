#pragma once

// Elements of queries, caches and outputs: fp32, fp16 and bf16. They are loaded four at a time and
// turned into fp32, in which all arithmetic is done.

#include <kernel_dialect.h>

#include <type_traits>

namespace recto::kernels {

// Rounds to nearest even. What has the type already keeps its bits, a NaN's too.
template <typename Target, typename Source>
__device__ inline Target convert(Source value) {
  if constexpr (std::is_same_v<Source, __half> && !std::is_same_v<Target, __half>) {
    return convert<Target>(__half2float(value));
  } else if constexpr (std::is_same_v<Source, __nv_bfloat16> &&
                       !std::is_same_v<Target, __nv_bfloat16>) {
    return convert<Target>(__bfloat162float(value));
  } else if constexpr (std::is_same_v<Source, float> && std::is_same_v<Target, __half>) {
    return __float2half_rn(value);
  } else if constexpr (std::is_same_v<Source, float> && std::is_same_v<Target, __nv_bfloat16>) {
    return __float2bfloat16_rn(value);
  } else {
    return value;
  }
}

// Four neighbours; in registers, or in memory at a multiple of their size.
template <typename Element>
struct alignas(4 * sizeof(Element)) Four {
  Element at[4];
};

// (Written out: host compilers make one vector of it then, and nvcc unrolls anyway.)
template <typename Target, typename Source>
__device__ inline Four<Target> convert_four(const Four<Source>& values) {
  return {{convert<Target>(values.at[0]), convert<Target>(values.at[1]),
           convert<Target>(values.at[2]), convert<Target>(values.at[3])}};
}

__device__ inline void add_product(const Four<float>& a, const Four<float>& b, Four<float>& sum) {
  sum.at[0] += a.at[0] * b.at[0];
  sum.at[1] += a.at[1] * b.at[1];
  sum.at[2] += a.at[2] * b.at[2];
  sum.at[3] += a.at[3] * b.at[3];
}

__device__ inline void add_product(float a, const Four<float>& b, Four<float>& sum) {
  sum.at[0] += a * b.at[0];
  sum.at[1] += a * b.at[1];
  sum.at[2] += a * b.at[2];
  sum.at[3] += a * b.at[3];
}

__device__ inline float sum_of(const Four<float>& values) {
  return (values.at[0] + values.at[1]) + (values.at[2] + values.at[3]);
}

}  // namespace recto::kernels
