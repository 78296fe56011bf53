#include "verify/simt/dialect/testdata/number_functions.h"

#ifdef RECTO_NVIDIA_NUMBERS
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#define RECTO_NUMBER_FUNCTIONS nvidia_number_functions
#else
#include "verify/simt/dialect/simt_fp8.h"
#include "verify/simt/dialect/simt_half_arithmetic.h"
#include "verify/simt/dialect/simt_half_comparison.h"
#define RECTO_NUMBER_FUNCTIONS executor_number_functions
#endif

#include <cstring>

namespace {

template <typename T>
T from_bits(std::uint32_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename T>
std::uint32_t bits_of(T value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// A pair holds the argument and another number, so that the halves differ.
template <typename Half, typename Pair>
Pair pair_of(std::uint32_t code) {
  return from_bits<Pair>(code | (code ^ 0x5a5a) << 16);
}

#define UNARY(type, name)                                                                \
  {                                                                                      \
#name "(" #type ")", 8 * sizeof(type), 1,                                            \
        [](std::uint32_t a,                                                              \
           std::uint32_t) -> std::uint32_t { return bits_of(name(from_bits<type>(a))); } \
  }
#define BINARY(type, name)                                                                      \
  {                                                                                             \
#name "(" #type ")", 8 * sizeof(type), 2,                                                   \
        [](std::uint32_t a, std::uint32_t b)                                                    \
             -> std::uint32_t { return bits_of(name(from_bits<type>(a), from_bits<type>(b))); } \
  }
#define PAIR_UNARY(half, pair, name)                                                         \
  {                                                                                          \
#name "(" #pair ")", 16, 1,                                                              \
        [](std::uint32_t a,                                                                  \
           std::uint32_t) -> std::uint32_t { return bits_of(name(pair_of<half, pair>(a))); } \
  }
#define PAIR_BINARY(half, pair, name)                                     \
  {                                                                       \
#name "(" #pair ")", 16, 2,                                             \
        [](std::uint32_t a, std::uint32_t b) -> std::uint32_t {             \
          const pair result = name(pair_of<half, pair>(a), pair_of<half, pair>(b)); \
          return bits_of(result);                                           \
        } \
  }
#define PAIR_TEST(half, pair, name)                                                            \
  {                                                                                            \
#name "(" #pair ")", 16, 2,                                                                \
        [](std::uint32_t a, std::uint32_t b)                                                   \
             -> std::uint32_t { return name(pair_of<half, pair>(a), pair_of<half, pair>(b)); } \
  }
// Operations of both formats.
#define SHARED(half, pair)                                                                         \
  BINARY(half, __hadd), BINARY(half, __hsub), BINARY(half, __hmul), BINARY(half, __hmul_sat),      \
      PAIR_BINARY(half, pair, __hmul2), BINARY(half, __hdiv), BINARY(half, __hadd_sat),            \
      BINARY(half, __hsub_sat), BINARY(half, __hadd_rn), BINARY(half, __heq), BINARY(half, __hne), \
      BINARY(half, __hlt), BINARY(half, __hle), BINARY(half, __hgt), BINARY(half, __hge),          \
      BINARY(half, __hequ), BINARY(half, __hneu), BINARY(half, __hltu), BINARY(half, __hleu),      \
      BINARY(half, __hgtu), BINARY(half, __hgeu), BINARY(half, __hmax), BINARY(half, __hmin),      \
      UNARY(half, __habs), UNARY(half, __hneg), UNARY(half, __hisnan), UNARY(half, __hisinf),      \
      PAIR_BINARY(half, pair, __hadd2), PAIR_BINARY(half, pair, __hsub2),                          \
      PAIR_BINARY(half, pair, __h2div), PAIR_BINARY(half, pair, __hadd2_sat),                      \
      PAIR_BINARY(half, pair, __heq2), PAIR_BINARY(half, pair, __hne2),                            \
      PAIR_BINARY(half, pair, __hlt2), PAIR_BINARY(half, pair, __hle2),                            \
      PAIR_BINARY(half, pair, __hgt2), PAIR_BINARY(half, pair, __hge2),                            \
      PAIR_BINARY(half, pair, __hequ2), PAIR_BINARY(half, pair, __hgeu2),                          \
      PAIR_TEST(half, pair, __hbeq2), PAIR_TEST(half, pair, __hbltu2),                             \
      PAIR_TEST(half, pair, __hbgt2), PAIR_BINARY(half, pair, __hmax2),                            \
      PAIR_UNARY(half, pair, __habs2), PAIR_UNARY(half, pair, __hneg2),                            \
      PAIR_UNARY(half, pair, __low2float), PAIR_UNARY(half, pair, __high2float),                   \
      PAIR_UNARY(half, pair, __lowhigh2highlow)

template <__nv_saturation_t kSaturation, __nv_fp8_interpretation_t kInterpretation>
__nv_fp8_storage_t fp8_of_float(float x) {
  return __nv_cvt_float_to_fp8(x, kSaturation, kInterpretation);
}
template <__nv_saturation_t kSaturation, __nv_fp8_interpretation_t kInterpretation>
__nv_fp8_storage_t fp8_of_half(__half_raw x) {
  return __nv_cvt_halfraw_to_fp8(x, kSaturation, kInterpretation);
}
template <__nv_saturation_t kSaturation, __nv_fp8_interpretation_t kInterpretation>
__nv_fp8_storage_t fp8_of_bfloat16(__nv_bfloat16_raw x) {
  return __nv_cvt_bfloat16raw_to_fp8(x, kSaturation, kInterpretation);
}
template <__nv_fp8_interpretation_t kInterpretation>
__half_raw half_of_fp8(__nv_fp8_storage_t x) {
  return __nv_cvt_fp8_to_halfraw(x, kInterpretation);
}
template <__nv_fp8_interpretation_t kInterpretation>
__half2_raw halves_of_fp8(unsigned short x) {
  return __nv_cvt_fp8x2_to_halfraw2(x, kInterpretation);
}
float float_of_e4m3(__nv_fp8_e4m3 x) { return float(x); }
float float_of_e5m2(__nv_fp8_e5m2 x) { return float(x); }
__nv_fp8_e4m3 e4m3_of_half(__half x) { return __nv_fp8_e4m3(x); }
__half2 pair_of_floats(float x) { return __floats2half2_rn(x, -x); }
__nv_bfloat162 bfloat16_pair_of_floats(float x) { return __float22bfloat162_rn({x, -x}); }

#define FP8(function, type)                               \
  UNARY(type, (function<__NV_SATFINITE, __NV_E4M3>)),     \
      UNARY(type, (function<__NV_NOSAT, __NV_E4M3>)),     \
      UNARY(type, (function<__NV_SATFINITE, __NV_E5M2>)), \
      UNARY(type, (function<__NV_NOSAT, __NV_E5M2>))

constexpr NumberFunction kFunctions[] = {
    UNARY(float, __float2half),
    UNARY(float, __float2half_rn),
    UNARY(float, __float2half_rz),
    UNARY(float, __float2half_ru),
    UNARY(float, __float2half_rd),
    UNARY(float, __float2bfloat16),
    UNARY(float, __float2bfloat16_rn),
    UNARY(float, __float2bfloat16_rz),
    UNARY(float, __float2bfloat16_ru),
    UNARY(float, __float2bfloat16_rd),
    UNARY(float, __float2half2_rn),
    UNARY(float, __float2bfloat162_rn),
    UNARY(float, pair_of_floats),
    UNARY(float, bfloat16_pair_of_floats),
    UNARY(int, __int2half_rn),
    UNARY(unsigned, __uint2half_rn),
    UNARY(int, __int2bfloat16_rn),
    UNARY(__half, __half2float),
    UNARY(__nv_bfloat16, __bfloat162float),
    UNARY(__half, __half_as_ushort),
    UNARY(__nv_bfloat16, __bfloat16_as_ushort),
    SHARED(__half, __half2),
    SHARED(__nv_bfloat16, __nv_bfloat162),
    // Not for __nv_bfloat16: NVIDIA's host versions of these treat +0 and -0 as equal, unlike PTX's
    // max and min.
    BINARY(__half, __hmax_nan),
    BINARY(__half, __hmin_nan),
    PAIR_BINARY(__half, __half2, __hmin2_nan),
    FP8(fp8_of_float, float),
    FP8(fp8_of_half, __half_raw),
    FP8(fp8_of_bfloat16, __nv_bfloat16_raw),
    UNARY(__nv_fp8_storage_t, half_of_fp8<__NV_E4M3>),
    UNARY(__nv_fp8_storage_t, half_of_fp8<__NV_E5M2>),
    UNARY(unsigned short, halves_of_fp8<__NV_E4M3>),
    UNARY(unsigned short, halves_of_fp8<__NV_E5M2>),
    UNARY(__nv_fp8_e4m3, float_of_e4m3),
    UNARY(__nv_fp8_e5m2, float_of_e5m2),
    UNARY(__half, e4m3_of_half),
};

}  // namespace

std::span<const NumberFunction> RECTO_NUMBER_FUNCTIONS() { return kFunctions; }
