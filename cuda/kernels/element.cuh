#pragma once

// Elements of queries, caches and outputs: fp32, fp16 and bf16; of caches also e4m3 and e5m2. They
// are loaded four at a time and converted to fp32, in which all arithmetic is done.

#include <kernel_dialect.h>

#include <type_traits>

namespace recto::kernels {

template <typename Element>
inline constexpr bool kIsFp8 =
    std::is_same_v<Element, __nv_fp8_e4m3> || std::is_same_v<Element, __nv_fp8_e5m2>;

// Rounds to nearest even; values too large for fp8 saturate to its largest number. A value that
// already has the target type keeps its bits, including a NaN's; other NaNs stay NaN.
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
  } else if constexpr (kIsFp8<Source> && !std::is_same_v<Source, Target>) {
    return convert<Target>(static_cast<float>(value));
  } else if constexpr (kIsFp8<Target> && !std::is_same_v<Source, Target>) {
    return Target(value);
  } else {
    return value;
  }
}

// Four neighbouring elements, in registers or in memory at a multiple of their total size.
template <typename Element>
struct alignas(4 * sizeof(Element)) Four {
  Element at[4];
};

// (Written out so that host compilers vectorise it; nvcc unrolls loops anyway.)
template <typename Target, typename Source>
__device__ inline Four<Target> convert_four(const Four<Source>& values) {
  return {{convert<Target>(values.at[0]), convert<Target>(values.at[1]),
           convert<Target>(values.at[2]), convert<Target>(values.at[3])}};
}

// Converts fp8 in pairs, as the hardware instructions do.
template <typename Target, typename Fp8>
requires(kIsFp8<Fp8>&& std::is_same_v<Target, float>) __device__
    inline Four<float> convert_four(const Four<Fp8>& codes) {
  constexpr auto kFormat = std::is_same_v<Fp8, __nv_fp8_e4m3> ? __NV_E4M3 : __NV_E5M2;
  Four<float> values;
  for (int i = 0; i < 4; i += 2) {
    const unsigned pair = codes.at[i].__x | unsigned{codes.at[i + 1].__x} << 8;
    const __half2_raw halves =
        __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(pair), kFormat);
    values.at[i] = __half2float(__half_raw{halves.x});
    values.at[i + 1] = __half2float(__half_raw{halves.y});
  }
  return values;
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
