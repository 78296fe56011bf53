#include "verify/ptx/testing/host_operations.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

namespace recto::ptx {
namespace {

using Bits = std::uint64_t;
using S32 = std::int32_t;
using U32 = std::uint32_t;

// --- the host's arithmetic -----------------------------------------------------------------------

float f32(Bits bits) {
  const auto word = static_cast<U32>(bits);
  float x = 0;
  std::memcpy(&x, &word, 4);
  return x;
}
Bits bits_of_f32(float x) {
  if (std::isnan(x)) return 0x7fffffff;
  U32 word = 0;
  std::memcpy(&word, &x, 4);
  return word;
}

// Runs `compute`, whose operands the compiler must not know, in a rounding mode.
template <typename Compute>
auto in_mode(int mode, Compute compute) {
  std::fesetround(mode);
  const volatile auto result = compute();
  std::fesetround(FE_TONEAREST);
  return result;
}
template <int kMode = FE_TONEAREST>
Bits add32(float a, float b) {
  const volatile float x = a;
  const volatile float y = b;
  return bits_of_f32(in_mode(kMode, [&]() -> float { return x + y; }));
}
template <int kMode = FE_TONEAREST>
Bits mul32(float a, float b) {
  const volatile float x = a;
  const volatile float y = b;
  return bits_of_f32(in_mode(kMode, [&]() -> float { return x * y; }));
}
template <int kMode = FE_TONEAREST>
Bits fma32(float a, float b, float c) {
  const volatile float x = a;
  const volatile float y = b;
  const volatile float z = c;
  return bits_of_f32(in_mode(kMode, [&]() -> float { return std::fma(x, y, z); }));
}
float flush(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x; }
Bits flushed32(Bits bits) { return bits_of_f32(flush(f32(bits))); }

// fp16 and bf16: a number, or NaN, of the code.
struct Narrow {
  int exponent_bits;
  int fraction_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  double value(Bits code) const {
    const auto fraction = static_cast<int>(code & ((1U << fraction_bits) - 1));
    const auto exponent = static_cast<int>(code >> fraction_bits & ((1U << exponent_bits) - 1));
    double magnitude = 0;
    if (exponent == (1 << exponent_bits) - 1) {
      magnitude = fraction == 0 ? INFINITY : NAN;
    } else if (exponent == 0) {
      magnitude = std::ldexp(fraction, 1 - bias() - fraction_bits);
    } else {
      magnitude = std::ldexp(fraction + (1 << fraction_bits), exponent - bias() - fraction_bits);
    }
    return (code >> 15 & 1) != 0 ? -magnitude : magnitude;
  }
  // The nearest code, ties to even.
  Bits code(double x) const {
    if (std::isnan(x)) return 0x7fff;
    const Bits sign = std::signbit(x) ? 0x8000 : 0;
    const Bits infinity = ((Bits{1} << exponent_bits) - 1) << fraction_bits;
    if (std::isinf(x)) return sign | infinity;
    if (x == 0) return sign;
    const int exponent = std::max(std::ilogb(x), 1 - bias());
    const double units = std::nearbyint(std::ldexp(std::fabs(x), fraction_bits - exponent));
    // Units beyond a power of two carry into the exponent.
    const Bits code =
        static_cast<Bits>(units) + (static_cast<Bits>(exponent + bias() - 1) << fraction_bits);
    return sign | std::min(code, infinity);
  }
};
constexpr Narrow kHalf{5, 10};
constexpr Narrow kBrain{8, 7};

// a b + c with all bits that matter for rounding to fewer: an inexact result has an odd last bit.
double sticky_fma(double a, double b, double c) {
  const volatile double x = a;
  const volatile double y = b;
  const volatile double z = c;
  std::fesetround(FE_TOWARDZERO);
  std::feclearexcept(FE_INEXACT);
  const volatile double cut = std::fma(x, y, z);
  const bool is_exact = std::fetestexcept(FE_INEXACT) == 0;
  std::fesetround(FE_TONEAREST);
  double result = cut;
  // In this mode, exact zeros of opposite signs add to +0 as they do to the nearest.
  Bits bits = 0;
  std::memcpy(&bits, &result, 8);
  if (!is_exact) bits |= 1;
  std::memcpy(&result, &bits, 8);
  return result;
}
template <Narrow kFormat>
Bits fma16(Bits a, Bits b, Bits c) {
  return kFormat.code(sticky_fma(kFormat.value(a), kFormat.value(b), kFormat.value(c)));
}
template <Narrow kFormat>
Bits add16(Bits a, Bits b) {
  return kFormat.code(sticky_fma(1, kFormat.value(a), kFormat.value(b)));
}
template <Narrow kFormat>
Bits mul16(Bits a, Bits b) {
  return kFormat.code(kFormat.value(a) * kFormat.value(b));  // exact before it is rounded
}
template <typename Half>
Bits pair_of(Half half) {
  return half(0) | half(16) << 16;
}

template <typename Integer>
Bits integer_of(float x, float rounded) {
  if (std::isnan(x)) return 0;
  const double low = std::numeric_limits<Integer>::min();
  const double high = std::numeric_limits<Integer>::max();
  return static_cast<U32>(
      static_cast<std::int64_t>(std::min(std::max<double>(rounded, low), high)));
}

Bits permuted(Bits a, Bits b, Bits selectors) {
  Bits result = 0;
  for (int byte = 0; byte < 4; ++byte) {
    const Bits selector = selectors >> 4 * byte & 15;
    Bits value = ((selector & 4) != 0 ? b : a) >> 8 * (selector & 3) & 0xff;
    if ((selector & 8) != 0) value = (value & 0x80) != 0 ? 0xff : 0;
    result |= value << 8 * byte;
  }
  return result;
}

// --- instructions --------------------------------------------------------------------------------

#define RESULT(expression) [](const Bits* x) -> Bits { return expression; }
#define SIGNED(i) static_cast<S32>(x[i])
#define FLOAT(i) f32(x[i])

const std::vector<HostOperation> kOperations = {
    {"# add.s32 $0, $1, $2;", "rrr", RESULT(x[0] + x[1])},
    {"# sub.s32 $0, $1, $2;", "rrr", RESULT(x[0] - x[1])},
    {"# add.s64 $0, $1, $2;", "ddd", RESULT(x[0] + x[1])},
    {"# sub.s64 $0, $1, $2;", "ddd", RESULT(x[0] - x[1])},
    {"# add.u16 $0, $1, $2;", "hhh", RESULT(x[0] + x[1])},
    {"# mul.lo.s32 $0, $1, $2;", "rrr", RESULT(x[0] * x[1])},
    {"# mul.hi.u32 $0, $1, $2;", "rrr", RESULT(x[0] * x[1] >> 32)},
    {"# mul.hi.s32 $0, $1, $2;", "rrr",
     RESULT(static_cast<Bits>(std::int64_t{SIGNED(0)} * SIGNED(1)) >> 32)},
    {"# mul.wide.u32 $0, $1, $2;", "drr", RESULT(x[0] * x[1])},
    {"# mul.wide.s32 $0, $1, $2;", "drr",
     RESULT(static_cast<Bits>(std::int64_t{SIGNED(0)} * SIGNED(1)))},
    {"# mul.lo.s64 $0, $1, $2;", "ddd", RESULT(x[0] * x[1])},
    {"# mad.lo.s32 $0, $1, $2, $3;", "rrrr", RESULT(x[0] * x[1] + x[2])},
    {"# mad.wide.s32 $0, $1, $2, $3;", "drrd",
     RESULT(static_cast<Bits>(std::int64_t{SIGNED(0)} * SIGNED(1)) + x[2])},
    {"or.b32 %t, $2, 1; # div.u32 $0, $1, %t;", "rrr", RESULT(x[0] / (x[1] | 1))},
    {"or.b32 %t, $2, 1; # rem.u32 $0, $1, %t;", "rrr", RESULT(x[0] % (x[1] | 1))},
    {"# min.s32 $0, $1, $2;", "rrr", RESULT(SIGNED(0) < SIGNED(1) ? x[0] : x[1])},
    {"# max.u32 $0, $1, $2;", "rrr", RESULT(x[0] > x[1] ? x[0] : x[1])},
    {"# neg.s32 $0, $1;", "rr", RESULT(0 - x[0])},
    {"# abs.s32 $0, $1;", "rr", RESULT(SIGNED(0) < 0 ? 0 - x[0] : x[0])},
    {"# and.b32 $0, $1, $2;", "rrr", RESULT(x[0] & x[1])},
    {"# or.b64 $0, $1, $2;", "ddd", RESULT(x[0] | x[1])},
    {"# xor.b32 $0, $1, $2;", "rrr", RESULT(x[0] ^ x[1])},
    {"# not.b16 $0, $1;", "hh", RESULT(~x[0])},
    {"# lop3.b32 $0, $1, $2, $3, 0xca;", "rrrr", RESULT((x[0] & x[1]) | (~x[0] & x[2]))},
    {"# prmt.b32 $0, $1, $2, $3;", "rrrr", RESULT(permuted(x[0], x[1], x[2]))},
    {"# shl.b32 $0, $1, $2;", "rrr", RESULT(x[1] > 31 ? 0 : x[0] << x[1])},
    {"# shr.u32 $0, $1, $2;", "rrr", RESULT(x[1] > 31 ? 0 : x[0] >> x[1])},
    {"# shr.s32 $0, $1, 7;", "rr", RESULT(static_cast<Bits>(std::int64_t{SIGNED(0)} >> 7))},
    {"# shl.b64 $0, $1, 13;", "dd", RESULT(x[0] << 13)},
    {"# shr.u64 $0, $1, 40;", "dd", RESULT(x[0] >> 40)},
    {"# shf.l.wrap.b32 $0, $1, $2, $3;", "rrrr", RESULT((x[1] << 32 | x[0]) << (x[2] & 31) >> 32)},
    {"# shf.r.clamp.b32 $0, $1, $2, $3;", "rrrr",
     RESULT((x[1] << 32 | x[0]) >> (x[2] > 32 ? 32 : x[2]))},
    {"# bfe.u32 $0, $1, 5, 11;", "rr", RESULT(x[0] >> 5 & 0x7ff)},
    {"# bfi.b32 $0, $1, $2, 9, 4;", "rrr", RESULT((x[1] & ~Bits{0x1e00}) | (x[0] & 15) << 9)},
    {"# popc.b32 $0, $1;", "rr", RESULT(Bits(std::popcount(x[0])))},
    {"# clz.b32 $0, $1;", "rr", RESULT(Bits(std::countl_zero(x[0]) - 32))},
    {"# mov.b32 $0, {$1, $2};", "rhh", RESULT(x[0] | x[1] << 16)},
    {"# mov.b32 {_, $0}, $1;", "hr", RESULT(x[0] >> 16)},
    {"# mov.b64 $0, {$1, $2};", "drr", RESULT(x[0] | x[1] << 32)},
    {"# mov.b64 {$0, _}, $1;", "rd", RESULT(x[0])},
    {"# selp.b32 $0, $1, $2, $3;", "rrrp", RESULT(x[2] != 0 ? x[0] : x[1])},
    {"# selp.b16 $0, $1, $2, $3;", "hhhp", RESULT(x[2] != 0 ? x[0] : x[1])},
    {"# slct.b32.s32 $0, $1, $2, $3;", "rrrr", RESULT(SIGNED(2) >= 0 ? x[0] : x[1])},
    {"# setp.lt.s32 $0, $1, $2;", "prr", RESULT(SIGNED(0) < SIGNED(1))},
    {"# setp.ge.u64 $0, $1, $2;", "pdd", RESULT(x[0] >= x[1])},
    {"# setp.eq.b16 $0, $1, $2;", "phh", RESULT(x[0] == x[1])},
    {"# setp.ne.and.s32 $0, $1, $2, $3;", "prrp", RESULT(x[0] != x[1] && x[2] != 0)},
    {"# setp.lt.f32 $0, $1, $2;", "prr", RESULT(FLOAT(0) < FLOAT(1))},
    {"# setp.neu.f32 $0, $1, $2;", "prr", RESULT(!(FLOAT(0) == FLOAT(1)))},
    {"# setp.le.f16 $0, $1, $2;", "phh", RESULT(kHalf.value(x[0]) <= kHalf.value(x[1]))},
    {"# set.gt.f32.s32 $0, $1, $2;", "rrr", RESULT(SIGNED(0) > SIGNED(1) ? 0x3f800000 : 0)},
    {"# set.eq.f16x2.f16x2 $0, $1, $2;", "rrr", RESULT(pair_of([&](int i) -> Bits {
       return kHalf.value(x[0] >> i) == kHalf.value(x[1] >> i) ? 0x3c00 : 0;
     }))},
    {"# xor.pred $0, $1, $2;", "ppp", RESULT(x[0] ^ x[1])},
    {"# not.pred $0, $1;", "pp", RESULT(x[0] ^ 1)},
    {"# add.f32 $0, $1, $2;", "rrr", RESULT(add32(FLOAT(0), FLOAT(1)))},
    {"# sub.f32 $0, $1, $2;", "rrr", RESULT(add32(FLOAT(0), -FLOAT(1)))},
    {"# add.rz.f32 $0, $1, $2;", "rrr", RESULT(add32<FE_TOWARDZERO>(FLOAT(0), FLOAT(1)))},
    {"# add.rp.f32 $0, $1, $2;", "rrr", RESULT(add32<FE_UPWARD>(FLOAT(0), FLOAT(1)))},
    {"# mul.f32 $0, $1, $2;", "rrr", RESULT(mul32(FLOAT(0), FLOAT(1)))},
    {"# mul.rm.f32 $0, $1, $2;", "rrr", RESULT(mul32<FE_DOWNWARD>(FLOAT(0), FLOAT(1)))},
    {"# mul.ftz.f32 $0, $1, $2;", "rrr",
     RESULT(flushed32(mul32(flush(FLOAT(0)), flush(FLOAT(1)))))},
    {"# fma.rn.f32 $0, $1, $2, $3;", "rrrr", RESULT(fma32(FLOAT(0), FLOAT(1), FLOAT(2)))},
    {"# fma.rz.f32 $0, $1, $2, $3;", "rrrr",
     RESULT(fma32<FE_TOWARDZERO>(FLOAT(0), FLOAT(1), FLOAT(2)))},
    {"# div.rn.f32 $0, $1, $2;", "rrr", RESULT(bits_of_f32(FLOAT(0) / FLOAT(1)))},
    {"# sqrt.rn.f32 $0, $1;", "rr", RESULT(bits_of_f32(std::sqrt(FLOAT(0))))},
    {"# neg.f32 $0, $1;", "rr", RESULT(x[0] ^ 0x80000000)},
    {"# max.f32 $0, $1, $2;", "rrr", RESULT([&]() -> Bits {
       const float a = FLOAT(0);
       const float b = FLOAT(1);
       if (a == b) return bits_of_f32(std::signbit(a) ? b : a);
       if (std::isnan(a) || std::isnan(b)) return bits_of_f32(std::isnan(a) ? b : a);
       return bits_of_f32(a > b ? a : b);
     }())},
    {"# add.f16 $0, $1, $2;", "hhh", RESULT(add16<kHalf>(x[0], x[1]))},
    {"# mul.f16 $0, $1, $2;", "hhh", RESULT(mul16<kHalf>(x[0], x[1]))},
    {"# fma.rn.f16 $0, $1, $2, $3;", "hhhh", RESULT(fma16<kHalf>(x[0], x[1], x[2]))},
    {"# fma.rn.bf16 $0, $1, $2, $3;", "hhhh", RESULT(fma16<kBrain>(x[0], x[1], x[2]))},
    {"# add.f16x2 $0, $1, $2;", "rrr",
     RESULT(pair_of([&](int i) { return add16<kHalf>(x[0] >> i, x[1] >> i); }))},
    {"# fma.rn.bf16x2 $0, $1, $2, $3;", "rrrr",
     RESULT(pair_of([&](int i) { return fma16<kBrain>(x[0] >> i, x[1] >> i, x[2] >> i); }))},
    {"# cvt.rn.f16.f32 $0, $1;", "hr", RESULT(kHalf.code(FLOAT(0)))},
    {"# cvt.rn.bf16x2.f32 $0, $1, $2;", "rrr",
     RESULT(kBrain.code(FLOAT(1)) | kBrain.code(FLOAT(0)) << 16)},
    {"# cvt.rn.bf16.f16 $0, $1;", "hh", RESULT(kBrain.code(kHalf.value(x[0])))},
    {"# cvt.f32.f16 $0, $1;", "rh", RESULT(bits_of_f32(static_cast<float>(kHalf.value(x[0]))))},
    {"# cvt.f32.bf16 $0, $1;", "rh", RESULT(x[0] << 16)},
    {"# cvt.rzi.s32.f32 $0, $1;", "rr", RESULT(integer_of<S32>(FLOAT(0), std::trunc(FLOAT(0))))},
    {"# cvt.rni.u32.f32 $0, $1;", "rr",
     RESULT(integer_of<U32>(FLOAT(0), std::nearbyint(FLOAT(0))))},
    {"# cvt.rn.f32.s32 $0, $1;", "rr", RESULT(bits_of_f32(static_cast<float>(SIGNED(0))))},
    {"# cvt.rn.f16.u32 $0, $1;", "hr", RESULT(kHalf.code(static_cast<double>(x[0])))},
    {"# cvt.s64.s32 $0, $1;", "dr", RESULT(static_cast<Bits>(std::int64_t{SIGNED(0)}))},
    {"# cvt.u32.u64 $0, $1;", "rd", RESULT(x[0])},
    {"# cvt.s32.s8 $0, $1;", "rr", RESULT(static_cast<Bits>(static_cast<std::int8_t>(x[0])))},
    {"# cvt.sat.u16.s32 $0, $1;", "hr",
     RESULT(static_cast<Bits>(std::min(std::max(SIGNED(0), 0), 0xffff)))},
};

}  // namespace

const std::vector<HostOperation>& host_operations() { return kOperations; }

}  // namespace recto::ptx
