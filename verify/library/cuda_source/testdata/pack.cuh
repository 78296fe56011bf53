#pragma once

// Operations of packed_decode.cu on packs, the elements that lie together in a cache, by type: the
// product with a pack of a query, and sums of values by weights.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>

#include "half_math.cuh"

namespace packed_attention {

template <typename scalar_t>
struct Pack;

template <>
struct Pack<half> {
  static constexpr int kElements = 8;
  static __device__ float dot(const half* a, const half* b) {
    const uint4 x = *reinterpret_cast<const uint4*>(a);
    const uint4 y = *reinterpret_cast<const uint4*>(b);
    return half2_dot(x.x, y.x) + half2_dot(x.y, y.y) + half2_dot(x.z, y.z) + half2_dot(x.w, y.w);
  }
  static __device__ float to_float(half value) { return half_to_float(__half_as_ushort(value)); }
  static __device__ half from_float(float value) { return __ushort_as_half(float_to_half(value)); }

  // Two tokens at a time, in half precision: fast, but only as accurate as half precision.
  static __device__ float weigh(const float* logits, const half* v, int count) {
    uint32_t sum = 0;
    int slot = 0;
    for (; slot + 1 < count; slot += 2) {
      const uint32_t weights = float2_to_half2(logits[slot], logits[slot + 1]);
      sum = half2_fma(weights, *reinterpret_cast<const uint32_t*>(v + slot), sum);
    }
    float rest = 0.f;
    if (slot < count) rest = logits[slot] * to_float(v[slot]);
    return half2_sum(sum) + rest;
  }
};

template <>
struct Pack<float> {
  static constexpr int kElements = 4;
  static __device__ float dot(const float* a, const float* b) {
    const float4 x = *reinterpret_cast<const float4*>(a);
    const float4 y = *reinterpret_cast<const float4*>(b);
    return x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
  }
  static __device__ float to_float(float value) { return value; }
  static __device__ float from_float(float value) { return value; }
};

template <>
struct Pack<__nv_bfloat16> {
  static constexpr int kElements = 8;
  // A bfloat16 is the upper half of a float.
  static __device__ float low(uint32_t pair) { return __uint_as_float(pair << 16); }
  static __device__ float high(uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }
  static __device__ float dot_pair(uint32_t a, uint32_t b) {
    return low(a) * low(b) + high(a) * high(b);
  }
  static __device__ float dot(const __nv_bfloat16* a, const __nv_bfloat16* b) {
    const uint4 x = *reinterpret_cast<const uint4*>(a);
    const uint4 y = *reinterpret_cast<const uint4*>(b);
    return dot_pair(x.x, y.x) + dot_pair(x.y, y.y) + dot_pair(x.z, y.z) + dot_pair(x.w, y.w);
  }
  static __device__ float to_float(__nv_bfloat16 value) { return low(__bfloat16_as_ushort(value)); }
  static __device__ __nv_bfloat16 from_float(float value) { return __float2bfloat16(value); }
};

template <>
struct Pack<__nv_fp8_e4m3> {
  static constexpr int kElements = 16;
  static __device__ float to_float(__nv_fp8_e4m3 value) { return static_cast<float>(value); }
};

// The product of a query's pack and a cache's pack of codes.
template <typename scalar_t, typename cache_t>
struct Product {
  static __device__ float dot(const scalar_t* q, const cache_t* k) {
    float sum = 0.f;
    for (int i = 0; i < Pack<cache_t>::kElements; ++i) {
      sum += Pack<scalar_t>::to_float(q[i]) * Pack<cache_t>::to_float(k[i]);
    }
    return sum;
  }
};

template <typename scalar_t>
struct Product<scalar_t, scalar_t> : Pack<scalar_t> {};

// In float, token by token.
struct FloatSums {
  template <typename cache_t>
  static __device__ float weigh(const float* logits, const cache_t* v, int count) {
    float sum = 0.f;
    for (int slot = 0; slot < count; ++slot) {
      sum += logits[slot] * Pack<cache_t>::to_float(v[slot]);
    }
    return sum;
  }
};

struct HalfSums {
  template <typename scalar_t>
  static __device__ float weigh(const float* logits, const scalar_t* v, int count) {
    return Pack<scalar_t>::weigh(logits, v, count);
  }
};

}  // namespace packed_attention
