// Half-precision arithmetic by inline PTX, as in older CUDA sources.

#pragma once

#include <stdint.h>

namespace packed_attention {

inline __device__ float half_to_float(uint16_t h) {
  float f;
  asm volatile("cvt.f32.f16 %0, %1;\n" : "=f"(f) : "h"(h));
  return f;
}

inline __device__ uint16_t float_to_half(float f) {
  uint16_t h;
  asm volatile("cvt.rn.f16.f32 %0, %1;\n" : "=h"(h) : "f"(f));
  return h;
}

inline __device__ uint32_t float2_to_half2(float low, float high) {
  uint32_t h2;
  asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;\n" : "=r"(h2) : "f"(high), "f"(low));
  return h2;
}

inline __device__ uint32_t half2_fma(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t d;
  asm volatile("fma.rn.f16x2 %0, %1, %2, %3;\n" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

inline __device__ float half2_sum(uint32_t h2) {
  uint16_t low;
  uint16_t high;
  asm volatile("mov.b32 {%0, %1}, %2;\n" : "=h"(low), "=h"(high) : "r"(h2));
  return half_to_float(low) + half_to_float(high);
}

// Products of halves are exact in float.
inline __device__ float half2_dot(uint32_t a, uint32_t b) {
  uint16_t a_low, a_high, b_low, b_high;
  asm volatile("mov.b32 {%0, %1}, %2;\n" : "=h"(a_low), "=h"(a_high) : "r"(a));
  asm volatile("mov.b32 {%0, %1}, %2;\n" : "=h"(b_low), "=h"(b_high) : "r"(b));
  return half_to_float(a_low) * half_to_float(b_low) +
         half_to_float(a_high) * half_to_float(b_high);
}

}  // namespace packed_attention
