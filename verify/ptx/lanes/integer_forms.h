#pragma once

// Forms of integer, logic, move and selection instructions.

#include "verify/ptx/arithmetic/bit_operations.h"
#include "verify/ptx/arithmetic/integer_arithmetic.h"
#include "verify/ptx/lanes/lane_loops.h"

namespace recto::ptx {
namespace {

// NAME(b, b) for (T a, T b) -> T and the like; results are cut to T.
#define UNARY(name, T, expression) \
  lanes(                           \
      name, [](T a) __attribute__((always_inline))->T { return static_cast<T>(expression); })
#define BINARY(name, T, expression) \
  lanes(                            \
      name, [](T a, T b) __attribute__((always_inline))->T { return static_cast<T>(expression); })
#define TERNARY(name, T, expression) \
  lanes(                             \
      name,                          \
      [](T a, T b, T c) __attribute__((always_inline))->T { return static_cast<T>(expression); })

#define INTEGER_FORMS(type, T)                                                              \
  BINARY("add." type, T, static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b)),        \
      BINARY("sub." type, T, static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b)),    \
      BINARY("mul.lo." type, T, mul_lo(a, b)), BINARY("mul.hi." type, T, mul_hi(a, b)),     \
      TERNARY("mad.lo." type, T,                                                            \
              static_cast<Unsigned<T>>(mul_lo(a, b)) + static_cast<Unsigned<T>>(c)),        \
      TERNARY("mad.hi." type, T,                                                            \
              static_cast<Unsigned<T>>(mul_hi(a, b)) + static_cast<Unsigned<T>>(c)),        \
      TERNARY("sad." type, T, sad(a, b, c)), BINARY("div." type, T, recto::ptx::div(a, b)), \
      BINARY("rem." type, T, rem(a, b)), BINARY("min." type, T, a < b ? a : b),             \
      BINARY("max." type, T, a > b ? a : b),                                                \
      lanes(                                                                                \
          "shr." type, [](T a, std::uint32_t b) __attribute__((always_inline))->T {         \
            return recto::ptx::shr(a, b);                                                   \
          })

#define WIDE_FORMS(type, T)                                                                     \
  lanes(                                                                                        \
      "mul.wide." type,                                                                         \
      [](T a, T b) __attribute__((always_inline))->Wider<T> { return mul_wide(a, b); }),        \
      lanes(                                                                                    \
          "mad.wide." type, [](T a, T b, Wider<T> c) __attribute__((always_inline))->Wider<T> { \
            return static_cast<Wider<T>>(static_cast<Unsigned<Wider<T>>>(mul_wide(a, b)) +      \
                                         static_cast<Unsigned<Wider<T>>>(c));                   \
          })

#define SIGNED_FORMS(type, T)                                          \
  UNARY("neg." type, T, Unsigned<T>{0} - static_cast<Unsigned<T>>(a)), \
      UNARY("abs." type, T, abs_integer(a))

#define MUL24_FORMS(type, T)                                                                \
  BINARY("mul24.lo." type, T, mul24_lo(a, b)), BINARY("mul24.hi." type, T, mul24_hi(a, b)), \
      TERNARY("mad24.lo." type, T,                                                          \
              static_cast<Unsigned<T>>(mul24_lo(a, b)) + static_cast<Unsigned<T>>(c)),      \
      TERNARY("mad24.hi." type, T,                                                          \
              static_cast<Unsigned<T>>(mul24_hi(a, b)) + static_cast<Unsigned<T>>(c))

// Shapes of 32 and 64 bits that are signed or not.
#define FIELD_FORMS(type, T)                                                                     \
  lanes("bfind." type, [](T a) -> std::uint32_t { return bfind(a); }),                           \
      lanes("bfind.shiftamt." type, [](T a) -> std::uint32_t { return bfind_shift_amount(a); }), \
      lanes("bfe." type, [](T a, std::uint32_t b, std::uint32_t c) -> T { return bfe(a, b, c); })

#define BIT_FORMS(type, T)                                             \
  lanes("popc." type, [](T a) -> std::uint32_t { return popc(a); }),   \
      lanes("clz." type, [](T a) -> std::uint32_t { return clz(a); }), \
      UNARY("brev." type, T, brev(a)),                                 \
      lanes("bfi." type,                                               \
            [](T a, T b, std::uint32_t c, std::uint32_t e) -> T { return bfi(a, b, c, e); })

#define LOGIC_FORMS(type, T)                                                                 \
  BINARY("and." type, T, a& b), BINARY("or." type, T, a | b), BINARY("xor." type, T, a ^ b), \
      UNARY("not." type, T, ~a), UNARY("cnot." type, T, cnot(a)),                            \
      lanes(                                                                                 \
          "shl." type, [](T a, std::uint32_t b) __attribute__((always_inline))->T {          \
            return recto::ptx::shl(a, b);                                                    \
          }),                                                                                \
      lanes(                                                                                 \
          "shr." type, [](T a, std::uint32_t b) __attribute__((always_inline))->T {          \
            return recto::ptx::shr(a, b);                                                    \
          })

#define MOVE_FORMS(type, T)                                                                        \
  UNARY("mov." type, T, a),                                                                        \
      lanes(                                                                                       \
          "selp." type,                                                                            \
          [](T a, T b, Truth c) __attribute__((always_inline))->T { return is_true(c) ? a : b; }), \
      lanes("slct." type ".s32", [](T a, T b, std::int32_t c) -> T { return c >= 0 ? a : b; }),    \
      lanes("slct." type ".f32", [](T a, T b, float c) -> T { return c >= 0 ? a : b; })

#define INTEGER_COMPARISONS(type, T)                                                        \
  lanes(                                                                                    \
      "setp.eq." type, [](T a, T b) __attribute__((always_inline)) { return a == b; }),     \
      lanes(                                                                                \
          "setp.ne." type, [](T a, T b) __attribute__((always_inline)) { return a != b; }), \
      lanes(                                                                                \
          "setp.lt." type, [](T a, T b) __attribute__((always_inline)) { return a < b; }),  \
      lanes(                                                                                \
          "setp.le." type, [](T a, T b) __attribute__((always_inline)) { return a <= b; }), \
      lanes(                                                                                \
          "setp.gt." type, [](T a, T b) __attribute__((always_inline)) { return a > b; }),  \
      lanes(                                                                                \
          "setp.ge." type, [](T a, T b) __attribute__((always_inline)) { return a >= b; })
#define UNSIGNED_COMPARISONS(type, T)                                                       \
  lanes(                                                                                    \
      "setp.lo." type, [](T a, T b) __attribute__((always_inline)) { return a < b; }),      \
      lanes(                                                                                \
          "setp.ls." type, [](T a, T b) __attribute__((always_inline)) { return a <= b; }), \
      lanes(                                                                                \
          "setp.hi." type, [](T a, T b) __attribute__((always_inline)) { return a > b; }),  \
      lanes(                                                                                \
          "setp.hs." type, [](T a, T b) __attribute__((always_inline)) { return a >= b; })
#define EQUALITIES(type, T)                                                             \
  lanes(                                                                                \
      "setp.eq." type, [](T a, T b) __attribute__((always_inline)) { return a == b; }), \
      lanes(                                                                            \
          "setp.ne." type, [](T a, T b) __attribute__((always_inline)) { return a != b; })

// The expression is for a and b, which are halves of two registers.
#define PAIRS(name, T, expression)                                                               \
  lanes(                                                                                         \
      name, [](std::uint32_t x, std::uint32_t y) __attribute__((always_inline))->std::uint32_t { \
        const auto half = [](std::uint32_t p, std::uint32_t q) -> std::uint32_t {                \
          const auto a = static_cast<T>(p);                                                      \
          const auto b = static_cast<T>(q);                                                      \
          return static_cast<std::uint16_t>(expression);                                         \
        };                                                                                       \
        return half(x, y) | half(x >> 16, y >> 16) << 16;                                        \
      })
#define PAIR_FORMS(type, T)                                           \
  PAIRS("add." type, T, a + b), PAIRS("min." type, T, a < b ? a : b), \
      PAIRS("max." type, T, a > b ? a : b)

#define PRMT_FORM(suffix, mode)                                                            \
  lanes(                                                                                   \
      "prmt.b32" suffix,                                                                   \
      [](std::uint32_t a, std::uint32_t b, std::uint32_t c) __attribute__((always_inline)) \
          ->std::uint32_t { return prmt(a, b, prmt_selectors(c, Permutation::mode)); })

#define U32(name, expression)                                                                    \
  lanes(                                                                                         \
      name, [](std::uint32_t a, std::uint32_t b, std::uint32_t c) __attribute__((always_inline)) \
                ->std::uint32_t { return expression; })
#define DP2A_FORMS(a_type, sign_a, b_type, sign_b)                                  \
  U32("dp2a.lo." a_type "." b_type, dp2a(a, b, c, {sign_a, sign_b}, Half::kLower)), \
      U32("dp2a.hi." a_type "." b_type, dp2a(a, b, c, {sign_a, sign_b}, Half::kUpper))
#define SZEXT_FORMS(type, T)                                                                  \
  BINARY("szext.clamp." type, T, szext(a, static_cast<std::uint32_t>(b), Overshoot::kClamp)), \
      BINARY("szext.wrap." type, T, szext(a, static_cast<std::uint32_t>(b), Overshoot::kWrap))

constexpr LaneForm kIntegerForms[] = {
    INTEGER_FORMS("s16", std::int16_t),
    INTEGER_FORMS("u16", std::uint16_t),
    INTEGER_FORMS("s32", std::int32_t),
    INTEGER_FORMS("u32", std::uint32_t),
    INTEGER_FORMS("s64", std::int64_t),
    INTEGER_FORMS("u64", std::uint64_t),
    WIDE_FORMS("s16", std::int16_t),
    WIDE_FORMS("u16", std::uint16_t),
    WIDE_FORMS("s32", std::int32_t),
    WIDE_FORMS("u32", std::uint32_t),
    SIGNED_FORMS("s16", std::int16_t),
    SIGNED_FORMS("s32", std::int32_t),
    SIGNED_FORMS("s64", std::int64_t),
    FIELD_FORMS("s32", std::int32_t),
    FIELD_FORMS("u32", std::uint32_t),
    FIELD_FORMS("s64", std::int64_t),
    FIELD_FORMS("u64", std::uint64_t),
    BIT_FORMS("b32", std::uint32_t),
    BIT_FORMS("b64", std::uint64_t),
    LOGIC_FORMS("b16", std::uint16_t),
    LOGIC_FORMS("b32", std::uint32_t),
    LOGIC_FORMS("b64", std::uint64_t),
    MOVE_FORMS("b16", std::uint16_t),
    MOVE_FORMS("b32", std::uint32_t),
    MOVE_FORMS("b64", std::uint64_t),
    INTEGER_COMPARISONS("s16", std::int16_t),
    INTEGER_COMPARISONS("u16", std::uint16_t),
    INTEGER_COMPARISONS("s32", std::int32_t),
    INTEGER_COMPARISONS("u32", std::uint32_t),
    INTEGER_COMPARISONS("s64", std::int64_t),
    INTEGER_COMPARISONS("u64", std::uint64_t),
    UNSIGNED_COMPARISONS("u16", std::uint16_t),
    UNSIGNED_COMPARISONS("u32", std::uint32_t),
    UNSIGNED_COMPARISONS("u64", std::uint64_t),
    EQUALITIES("b16", std::uint16_t),
    EQUALITIES("b32", std::uint32_t),
    EQUALITIES("b64", std::uint64_t),
    BINARY("add.sat.s32", std::int32_t, clamped_s32(std::int64_t{a} + b)),
    BINARY("sub.sat.s32", std::int32_t, clamped_s32(std::int64_t{a} - b)),
    TERNARY("mad.hi.sat.s32", std::int32_t, clamped_s32(std::int64_t{mul_hi(a, b)} + c)),
    PAIR_FORMS("s16x2", std::int16_t),
    PAIR_FORMS("u16x2", std::uint16_t),
    MUL24_FORMS("s32", std::int32_t),
    MUL24_FORMS("u32", std::uint32_t),
    TERNARY("mad24.hi.sat.s32", std::int32_t, clamped_s32(std::int64_t{mul24_hi(a, b)} + c)),
    PRMT_FORM("", kIndex),
    PRMT_FORM(".f4e", kF4e),
    PRMT_FORM(".b4e", kB4e),
    PRMT_FORM(".rc8", kRc8),
    PRMT_FORM(".ecl", kEcl),
    PRMT_FORM(".ecr", kEcr),
    PRMT_FORM(".rc16", kRc16),
    U32("shf.l.wrap.b32", shf_left(a, b, c, Overshoot::kWrap)),
    U32("shf.l.clamp.b32", shf_left(a, b, c, Overshoot::kClamp)),
    U32("shf.r.wrap.b32", shf_right(a, b, c, Overshoot::kWrap)),
    U32("shf.r.clamp.b32", shf_right(a, b, c, Overshoot::kClamp)),
    U32("dp4a.u32.u32", dp4a(a, b, c, {Sign::kUnsigned, Sign::kUnsigned})),
    U32("dp4a.u32.s32", dp4a(a, b, c, {Sign::kUnsigned, Sign::kSigned})),
    U32("dp4a.s32.u32", dp4a(a, b, c, {Sign::kSigned, Sign::kUnsigned})),
    U32("dp4a.s32.s32", dp4a(a, b, c, {Sign::kSigned, Sign::kSigned})),
    DP2A_FORMS("u32", Sign::kUnsigned, "u32", Sign::kUnsigned),
    DP2A_FORMS("u32", Sign::kUnsigned, "s32", Sign::kSigned),
    DP2A_FORMS("s32", Sign::kSigned, "u32", Sign::kUnsigned),
    DP2A_FORMS("s32", Sign::kSigned, "s32", Sign::kSigned),
    SZEXT_FORMS("s32", std::int32_t),
    SZEXT_FORMS("u32", std::uint32_t),
    lanes(
        "lop3.b32", [](std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t e)
                        __attribute__((always_inline))
                            ->std::uint32_t { return lop3(a, b, c, e); }),
    BINARY("bmsk.clamp.b32", std::uint32_t, bmsk(a, b, Overshoot::kClamp)),
    BINARY("bmsk.wrap.b32", std::uint32_t, bmsk(a, b, Overshoot::kWrap)),
    lanes("fns.b32",
          [](std::uint32_t a, std::uint32_t b, std::int32_t c) -> std::uint32_t {
            return fns(a, b, c);
          }),
    // add.cc and its kin compute the carry by itself, before the result.
    lanes("carry.add.b32",
          [](std::uint32_t a, std::uint32_t b, Truth c) -> bool {
            return add_carry(a, b, is_true(c) ? 1U : 0U).carry != 0;
          }),
    lanes("carry.add.b64",
          [](std::uint64_t a, std::uint64_t b, Truth c) -> bool {
            return add_carry(a, b, is_true(c) ? 1U : 0U).carry != 0;
          }),
    lanes("carry.sub.b32",
          [](std::uint32_t a, std::uint32_t b, Truth c) -> bool {
            return sub_borrow(a, b, is_true(c) ? 1U : 0U).carry != 0;
          }),
    lanes("carry.sub.b64",
          [](std::uint64_t a, std::uint64_t b, Truth c) -> bool {
            return sub_borrow(a, b, is_true(c) ? 1U : 0U).carry != 0;
          }),
    lanes("sum.add.b32",
          [](std::uint32_t a, std::uint32_t b, Truth c) -> std::uint32_t {
            return add_carry(a, b, is_true(c) ? 1U : 0U).value;
          }),
    lanes("sum.add.b64",
          [](std::uint64_t a, std::uint64_t b, Truth c) -> std::uint64_t {
            return add_carry(a, b, is_true(c) ? 1U : 0U).value;
          }),
    lanes("sum.sub.b32",
          [](std::uint32_t a, std::uint32_t b, Truth c) -> std::uint32_t {
            return sub_borrow(a, b, is_true(c) ? 1U : 0U).value;
          }),
    lanes("sum.sub.b64",
          [](std::uint64_t a, std::uint64_t b, Truth c) -> std::uint64_t {
            return sub_borrow(a, b, is_true(c) ? 1U : 0U).value;
          }),
    masks<2>("and.pred", [](LaneMask a, LaneMask b) { return a & b; }),
    masks<2>("or.pred", [](LaneMask a, LaneMask b) { return a | b; }),
    masks<2>("xor.pred", [](LaneMask a, LaneMask b) { return a ^ b; }),
    masks<1>("not.pred", [](LaneMask a) { return ~a; }),
    masks<1>("mov.pred", [](LaneMask a) { return a; }),
    masks<3>("selp.pred", [](LaneMask a, LaneMask b, LaneMask c) { return (a & c) | (b & ~c); }),
    // Pieces of vectors: packing and unpacking moves.
    lanes("pack.b32",
          [](std::uint16_t a, std::uint16_t b) -> std::uint32_t {
            return std::uint32_t{a} | std::uint32_t{b} << 16;
          }),
    lanes("pack.b64",
          [](std::uint32_t a, std::uint32_t b) -> std::uint64_t {
            return std::uint64_t{a} | std::uint64_t{b} << 32;
          }),
    lanes("pack4.b64",
          [](std::uint16_t a, std::uint16_t b, std::uint16_t c, std::uint16_t e) -> std::uint64_t {
            return std::uint64_t{a} | std::uint64_t{b} << 16 | std::uint64_t{c} << 32 |
                   std::uint64_t{e} << 48;
          }),
    lanes("extract.b16.b32",
          [](std::uint32_t a, std::uint32_t b) -> std::uint16_t {
            return static_cast<std::uint16_t>(a >> b);
          }),
    lanes("extract.b32.b64",
          [](std::uint64_t a, std::uint32_t b) -> std::uint32_t {
            return static_cast<std::uint32_t>(a >> b);
          }),
    lanes("extract.b16.b64",
          [](std::uint64_t a, std::uint32_t b) -> std::uint16_t {
            return static_cast<std::uint16_t>(a >> b);
          }),
};

}  // namespace
}  // namespace recto::ptx
