#pragma once

// Forms of floating-point instructions.

#include "verify/ptx/arithmetic/comparison.h"
#include "verify/ptx/arithmetic/float_arithmetic.h"
#include "verify/ptx/lanes/lane_loops.h"

namespace recto::ptx {
namespace {

using Code = std::uint16_t;  // of f16 and bf16

// Modifiers as bits.
enum Modifier : unsigned { kPlain = 0, kFtz = 1, kSat = 2 };
constexpr FloatMode mode_of(Rounding rounding, unsigned modifiers) {
  return {
      .rounding = rounding, .flush = (modifiers & kFtz) != 0, .saturate = (modifiers & kSat) != 0};
}

// MAKE(op, suffixes, type, T, mode) for modifiers of rounding, flushing and saturation.
#define WITH_SATURATION(MAKE, op, rnd, type, T, rounding, ftz, flush) \
  MAKE(op, rnd ftz, type, T, mode_of(Rounding::rounding, flush)),     \
      MAKE(op, rnd ftz ".sat", type, T, mode_of(Rounding::rounding, flush | kSat))
#define ROUNDINGS(MAKE, op, type, T, ftz, flush)                    \
  WITH_SATURATION(MAKE, op, "", type, T, kNearestEven, ftz, flush), \
      WITH_SATURATION(MAKE, op, ".rz", type, T, kZero, ftz, flush), \
      WITH_SATURATION(MAKE, op, ".rm", type, T, kDown, ftz, flush), \
      WITH_SATURATION(MAKE, op, ".rp", type, T, kUp, ftz, flush)
#define ALL_MODES(MAKE, op, type, T) \
  ROUNDINGS(MAKE, op, type, T, "", kPlain), ROUNDINGS(MAKE, op, type, T, ".ftz", kFtz)
#define PLAIN_ROUNDINGS(MAKE, op, type, T, ftz, flush)               \
  MAKE(op, ftz, type, T, mode_of(Rounding::kNearestEven, flush)),    \
      MAKE(op, ".rz" ftz, type, T, mode_of(Rounding::kZero, flush)), \
      MAKE(op, ".rm" ftz, type, T, mode_of(Rounding::kDown, flush)), \
      MAKE(op, ".rp" ftz, type, T, mode_of(Rounding::kUp, flush))

#define FLOAT_UNARY(op, suffix, type, T, mode) \
  lanes(                                       \
      #op suffix "." type,                     \
      [](T a) __attribute__((always_inline))->T { return recto::ptx::op(a, mode); })
#define FLOAT_BINARY(op, suffix, type, T, mode) \
  lanes(                                        \
      #op suffix "." type,                      \
      [](T a, T b) __attribute__((always_inline))->T { return recto::ptx::op(a, b, mode); })
#define FLOAT_TERNARY(op, suffix, type, T, mode)                                 \
  lanes(                                                                         \
      #op suffix "." type, [](T a, T b, T c) __attribute__((always_inline))->T { \
        return recto::ptx::op(a, b, c, mode);                                    \
      })

// Codes of a narrow format, alone and in pairs.
#define HALF_UNARY(op, suffix, type, kFormat, mode)                           \
  lanes(                                                                      \
      #op suffix "." type, [](Code a) __attribute__((always_inline))->Code {  \
        return static_cast<Code>(recto::ptx::op<kFormat>(a, mode));           \
      }),                                                                     \
      lanes(                                                                  \
          #op suffix "." type "x2",                                           \
          [](std::uint32_t a) __attribute__((always_inline))->std::uint32_t { \
            return recto::ptx::op<kFormat>(a & 0xffff, mode) |                \
                   recto::ptx::op<kFormat>(a >> 16, mode) << 16;              \
          })
#define HALF_BINARY(op, suffix, type, kFormat, mode)                                           \
  lanes(                                                                                       \
      #op suffix "." type, [](Code a, Code b) __attribute__((always_inline))->Code {           \
        return static_cast<Code>(recto::ptx::op<kFormat>(a, b, mode));                         \
      }),                                                                                      \
      lanes(                                                                                   \
          #op suffix "." type "x2",                                                            \
          [](std::uint32_t a, std::uint32_t b) __attribute__((always_inline))->std::uint32_t { \
            return recto::ptx::op<kFormat>(a & 0xffff, b & 0xffff, mode) |                     \
                   recto::ptx::op<kFormat>(a >> 16, b >> 16, mode) << 16;                      \
          })
#define HALF_TERNARY(op, suffix, type, kFormat, mode)                                          \
  lanes(                                                                                       \
      #op suffix "." type, [](Code a, Code b, Code c) __attribute__((always_inline))->Code {   \
        return static_cast<Code>(recto::ptx::op<kFormat>(a, b, c, mode));                      \
      }),                                                                                      \
      lanes(                                                                                   \
          #op suffix "." type "x2",                                                            \
          [](std::uint32_t a, std::uint32_t b, std::uint32_t c) __attribute__((always_inline)) \
              ->std::uint32_t {                                                                \
                return recto::ptx::op<kFormat>(a & 0xffff, b & 0xffff, c & 0xffff, mode) |     \
                       recto::ptx::op<kFormat>(a >> 16, b >> 16, c >> 16, mode) << 16;         \
              })

#define EXTREME(name, which, suffix, number_wins_, flush_)                             \
  lanes(                                                                               \
      name suffix ".f32", [](float a, float b) __attribute__((always_inline))->float { \
        return extreme(which, a, b, {.flush = flush_, .number_wins = number_wins_});   \
      }),                                                                              \
      HALF_EXTREME(name, which, suffix, "f16", kF16, number_wins_, flush_),            \
      HALF_EXTREME(name, which, suffix, "bf16", kBf16, number_wins_, flush_)
#define HALF_EXTREME(name, which, suffix, type, kFormat, number_wins_, flush_)                 \
  lanes(name suffix "." type,                                                                  \
        [](Code a, Code b) -> Code {                                                           \
          return static_cast<Code>(                                                            \
              extreme<kFormat>(which, a, b, {.flush = flush_, .number_wins = number_wins_}));  \
        }),                                                                                    \
      lanes(name suffix "." type "x2", [](std::uint32_t a, std::uint32_t b) -> std::uint32_t { \
        constexpr FloatMode kMode = {.flush = flush_, .number_wins = number_wins_};            \
        return extreme<kFormat>(which, a & 0xffff, b & 0xffff, kMode) |                        \
               extreme<kFormat>(which, a >> 16, b >> 16, kMode) << 16;                         \
      })
#define EXTREMES(name, which)                                                                    \
  EXTREME(name, which, "", true, false), EXTREME(name, which, ".ftz", true, true),               \
      EXTREME(name, which, ".NaN", false, false), EXTREME(name, which, ".ftz.NaN", false, true), \
      lanes(name ".f64", [](double a, double b) -> double { return extreme(which, a, b, {}); })

#define FLOAT_COMPARISON(name, which)                                                              \
  lanes(                                                                                           \
      "setp." name ".f32", [](float a, float b) __attribute__((always_inline))->bool {             \
        return compare(Comparison::which, a, b);                                                   \
      }),                                                                                          \
      lanes("setp." name ".ftz.f32",                                                               \
            [](float a, float b) -> bool {                                                         \
              return compare(Comparison::which, flushed(a), flushed(b));                           \
            }),                                                                                    \
      lanes("setp." name ".f64",                                                                   \
            [](double a, double b) -> bool { return compare(Comparison::which, a, b); }),          \
      lanes("setp." name ".f16",                                                                   \
            [](Code a, Code b) -> bool {                                                           \
              return compare(Comparison::which, widened<kF16>(a), widened<kF16>(b));               \
            }),                                                                                    \
      lanes("setp." name ".ftz.f16",                                                               \
            [](Code a, Code b) -> bool {                                                           \
              constexpr FloatMode kMode = {.flush = true};                                         \
              return compare(Comparison::which, operand<kF16>(a, kMode), operand<kF16>(b, kMode)); \
            }),                                                                                    \
      lanes("setp." name ".bf16", [](Code a, Code b) -> bool {                                     \
        return compare(Comparison::which, widened<kBf16>(a), widened<kBf16>(b));                   \
      })

#define TEST_CLASS(name, which)                                                             \
  lanes("testp." name ".f32", [](float a) -> bool { return is_of(FloatClass::which, a); }), \
      lanes("testp." name ".f64", [](double a) -> bool { return is_of(FloatClass::which, a); })

constexpr LaneForm kFloatForms[] = {
    ALL_MODES(FLOAT_BINARY, add, "f32", float),
    ALL_MODES(FLOAT_BINARY, sub, "f32", float),
    ALL_MODES(FLOAT_BINARY, mul, "f32", float),
    ALL_MODES(FLOAT_TERNARY, fma, "f32", float),
    PLAIN_ROUNDINGS(FLOAT_BINARY, div, "f32", float, "", kPlain),
    PLAIN_ROUNDINGS(FLOAT_BINARY, div, "f32", float, ".ftz", kFtz),
    PLAIN_ROUNDINGS(FLOAT_UNARY, rcp, "f32", float, "", kPlain),
    PLAIN_ROUNDINGS(FLOAT_UNARY, rcp, "f32", float, ".ftz", kFtz),
    PLAIN_ROUNDINGS(FLOAT_UNARY, sqrt, "f32", float, "", kPlain),
    PLAIN_ROUNDINGS(FLOAT_UNARY, sqrt, "f32", float, ".ftz", kFtz),
    FLOAT_UNARY(neg, "", "f32", float, FloatMode{}),
    FLOAT_UNARY(neg, ".ftz", "f32", float, FloatMode{.flush = true}),
    FLOAT_UNARY(abs, "", "f32", float, FloatMode{}),
    FLOAT_UNARY(abs, ".ftz", "f32", float, FloatMode{.flush = true}),
    PLAIN_ROUNDINGS(FLOAT_BINARY, add, "f64", double, "", kPlain),
    PLAIN_ROUNDINGS(FLOAT_BINARY, sub, "f64", double, "", kPlain),
    PLAIN_ROUNDINGS(FLOAT_BINARY, mul, "f64", double, "", kPlain),
    PLAIN_ROUNDINGS(FLOAT_TERNARY, fma, "f64", double, "", kPlain),
    PLAIN_ROUNDINGS(FLOAT_BINARY, div, "f64", double, "", kPlain),
    PLAIN_ROUNDINGS(FLOAT_UNARY, rcp, "f64", double, "", kPlain),
    PLAIN_ROUNDINGS(FLOAT_UNARY, sqrt, "f64", double, "", kPlain),
    FLOAT_UNARY(neg, "", "f64", double, FloatMode{}),
    FLOAT_UNARY(abs, "", "f64", double, FloatMode{}),
#define HALF_FORMS(type, kFormat)                                                              \
  HALF_BINARY(add, "", type, kFormat, FloatMode{}),                                            \
      HALF_BINARY(add, ".ftz", type, kFormat, FloatMode{.flush = true}),                       \
      HALF_BINARY(add, ".sat", type, kFormat, FloatMode{.saturate = true}),                    \
      HALF_BINARY(sub, "", type, kFormat, FloatMode{}),                                        \
      HALF_BINARY(sub, ".ftz", type, kFormat, FloatMode{.flush = true}),                       \
      HALF_BINARY(sub, ".sat", type, kFormat, FloatMode{.saturate = true}),                    \
      HALF_BINARY(mul, "", type, kFormat, FloatMode{}),                                        \
      HALF_BINARY(mul, ".ftz", type, kFormat, FloatMode{.flush = true}),                       \
      HALF_BINARY(mul, ".sat", type, kFormat, FloatMode{.saturate = true}),                    \
      HALF_TERNARY(fma, "", type, kFormat, FloatMode{}),                                       \
      HALF_TERNARY(fma, ".ftz", type, kFormat, FloatMode{.flush = true}),                      \
      HALF_TERNARY(fma, ".sat", type, kFormat, FloatMode{.saturate = true}),                   \
      HALF_TERNARY(fma, ".relu", type, kFormat, FloatMode{.relu = true}),                      \
      HALF_TERNARY(fma, ".ftz.relu", type, kFormat, (FloatMode{.flush = true, .relu = true})), \
      HALF_UNARY(neg, "", type, kFormat, FloatMode{}),                                         \
      HALF_UNARY(neg, ".ftz", type, kFormat, FloatMode{.flush = true}),                        \
      HALF_UNARY(abs, "", type, kFormat, FloatMode{}),                                         \
      HALF_UNARY(abs, ".ftz", type, kFormat, FloatMode{.flush = true})
    HALF_FORMS("f16", kF16),
    HALF_FORMS("bf16", kBf16),
    EXTREMES("min", Extreme::kMin),
    EXTREMES("max", Extreme::kMax),
    FLOAT_COMPARISON("eq", kEq),
    FLOAT_COMPARISON("ne", kNe),
    FLOAT_COMPARISON("lt", kLt),
    FLOAT_COMPARISON("le", kLe),
    FLOAT_COMPARISON("gt", kGt),
    FLOAT_COMPARISON("ge", kGe),
    FLOAT_COMPARISON("equ", kEqu),
    FLOAT_COMPARISON("neu", kNeu),
    FLOAT_COMPARISON("ltu", kLtu),
    FLOAT_COMPARISON("leu", kLeu),
    FLOAT_COMPARISON("gtu", kGtu),
    FLOAT_COMPARISON("geu", kGeu),
    FLOAT_COMPARISON("num", kNum),
    FLOAT_COMPARISON("nan", kNan),
    TEST_CLASS("finite", kFinite),
    TEST_CLASS("infinite", kInfinite),
    TEST_CLASS("number", kNumber),
    TEST_CLASS("notanumber", kNotANumber),
    TEST_CLASS("normal", kNormal),
    TEST_CLASS("subnormal", kSubnormal),
    lanes("copysign.f32", [](float a, float b) -> float { return copysign(a, b); }),
    lanes("copysign.f64", [](double a, double b) -> double { return copysign(a, b); }),
};

}  // namespace
}  // namespace recto::ptx
