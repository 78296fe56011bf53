#pragma once

// Forms of cvt. Values of 8 bits are in the lower half of a row of 16.

#include "verify/ptx/arithmetic/conversion.h"
#include "verify/ptx/lanes/lane_loops.h"

namespace recto::ptx {
namespace {

template <typename T>
using Held = std::conditional_t<sizeof(T) == 1, std::uint16_t, T>;

#define INTEGER_TO_INTEGER(to, To, from, From)                                        \
  lanes(                                                                              \
      "cvt." to "." from, [](Held<From> a) __attribute__((always_inline))->Held<To> { \
        return static_cast<Held<To>>(static_cast<To>(static_cast<From>(a)));          \
      }),                                                                             \
      lanes("cvt.sat." to "." from, [](Held<From> a) -> Held<To> {                    \
        return static_cast<Held<To>>(saturated<To>(static_cast<From>(a)));            \
      })
#define FROM_INTEGERS(MAKE, to, To)                                          \
  MAKE(to, To, "u8", std::uint8_t), MAKE(to, To, "s8", std::int8_t),         \
      MAKE(to, To, "u16", std::uint16_t), MAKE(to, To, "s16", std::int16_t), \
      MAKE(to, To, "u32", std::uint32_t), MAKE(to, To, "s32", std::int32_t), \
      MAKE(to, To, "u64", std::uint64_t), MAKE(to, To, "s64", std::int64_t)

// MAKE(suffix, rounding, to, To)
#define NEAREST_AND_DIRECTED(MAKE, to, To)                                        \
  MAKE("", Rounding::kNearestEven, to, To), MAKE(".rz", Rounding::kZero, to, To), \
      MAKE(".rm", Rounding::kDown, to, To), MAKE(".rp", Rounding::kUp, to, To)
#define INTEGRAL_ROUNDINGS(MAKE, to, To)                                               \
  MAKE(".rni", Rounding::kNearestEven, to, To), MAKE(".rzi", Rounding::kZero, to, To), \
      MAKE(".rmi", Rounding::kDown, to, To), MAKE(".rpi", Rounding::kUp, to, To)

#define FLOAT_TO_INTEGER(suffix, rounding, to, To)                                               \
  lanes("cvt" suffix "." to ".f32",                                                              \
        [](float a) -> Held<To> { return static_cast<Held<To>>(to_integer<To>(a, rounding)); }), \
      lanes("cvt" suffix ".ftz." to ".f32",                                                      \
            [](float a) -> Held<To> {                                                            \
              return static_cast<Held<To>>(to_integer<To>(flushed(a), rounding));                \
            }),                                                                                  \
      lanes("cvt" suffix "." to ".f64",                                                          \
            [](double a) -> Held<To> {                                                           \
              return static_cast<Held<To>>(to_integer<To>(a, rounding));                         \
            }),                                                                                  \
      lanes("cvt" suffix "." to ".f16",                                                          \
            [](std::uint16_t a) -> Held<To> {                                                    \
              return static_cast<Held<To>>(to_integer<To>(widened<kF16>(a), rounding));          \
            }),                                                                                  \
      lanes("cvt" suffix "." to ".bf16", [](std::uint16_t a) -> Held<To> {                       \
        return static_cast<Held<To>>(to_integer<To>(widened<kBf16>(a), rounding));               \
      })
#define TO_INTEGER(to, To) INTEGRAL_ROUNDINGS(FLOAT_TO_INTEGER, to, To)

#define INTEGER_TO_FLOAT(suffix, mode_rounding, from, From)                                     \
  lanes(                                                                                        \
      "cvt" suffix ".f32." from, [](Held<From> a) __attribute__((always_inline))->float {       \
        return to_f32(static_cast<From>(a), FloatMode{.rounding = mode_rounding});              \
      }),                                                                                       \
      lanes("cvt" suffix ".f64." from,                                                          \
            [](Held<From> a) -> double {                                                        \
              return to_f64(static_cast<From>(a), FloatMode{.rounding = mode_rounding});        \
            }),                                                                                 \
      lanes("cvt" suffix ".f16." from,                                                          \
            [](Held<From> a) -> std::uint16_t {                                                 \
              return static_cast<std::uint16_t>(                                                \
                  to_narrow<kF16>(static_cast<From>(a), FloatMode{.rounding = mode_rounding})); \
            }),                                                                                 \
      lanes("cvt" suffix ".bf16." from, [](Held<From> a) -> std::uint16_t {                     \
        return static_cast<std::uint16_t>(                                                      \
            to_narrow<kBf16>(static_cast<From>(a), FloatMode{.rounding = mode_rounding}));      \
      })
#define FROM_INTEGER(from, From) NEAREST_AND_DIRECTED(INTEGER_TO_FLOAT, from, From)

// Between f32 and f64, and from f32 to the narrow formats.
#define FLOAT_MODES(MAKE, suffix, rounding)                                         \
  MAKE(suffix, rounding, false, false), MAKE(suffix ".ftz", rounding, true, false), \
      MAKE(suffix ".sat", rounding, false, true), MAKE(suffix ".ftz.sat", rounding, true, true)
#define FLOAT_TO_FLOAT(suffix, rounding_, flush_, saturate_)                                 \
  lanes("cvt" suffix ".f32.f64",                                                             \
        [](double a) -> float {                                                              \
          return to_f32(a, {.rounding = rounding_, .flush = flush_, .saturate = saturate_}); \
        }),                                                                                  \
      lanes("cvt" suffix ".f16.f32",                                                         \
            [](float a) -> std::uint16_t {                                                   \
              return static_cast<std::uint16_t>(to_narrow<kF16>(                             \
                  a, {.rounding = rounding_, .flush = flush_, .saturate = saturate_}));      \
            }),                                                                              \
      lanes("cvt" suffix ".bf16.f32",                                                        \
            [](float a) -> std::uint16_t {                                                   \
              return static_cast<std::uint16_t>(to_narrow<kBf16>(                            \
                  a, {.rounding = rounding_, .flush = flush_, .saturate = saturate_}));      \
            }),                                                                              \
      lanes("cvt" suffix ".f16.f64",                                                         \
            [](double a) -> std::uint16_t {                                                  \
              return static_cast<std::uint16_t>(                                             \
                  narrowed<kF16>(a, {.rounding = rounding_, .saturate = saturate_}));        \
            }),                                                                              \
      lanes("cvt" suffix ".bf16.f16",                                                        \
            [](std::uint16_t a) -> std::uint16_t {                                           \
              return static_cast<std::uint16_t>(to_narrow<kBf16>(                            \
                  widened<kF16>(a), {.rounding = rounding_, .saturate = saturate_}));        \
            }),                                                                              \
      lanes("cvt" suffix ".f16.bf16",                                                        \
            [](std::uint16_t a) -> std::uint16_t {                                           \
              return static_cast<std::uint16_t>(to_narrow<kF16>(                             \
                  widened<kBf16>(a), {.rounding = rounding_, .saturate = saturate_}));       \
            }),                                                                              \
      lanes("cvt" suffix ".bf16.f64", [](double a) -> std::uint16_t {                        \
        return static_cast<std::uint16_t>(                                                   \
            narrowed<kBf16>(a, {.rounding = rounding_, .saturate = saturate_}));             \
      })
#define EXACT(suffix, flush_, saturate_)                                                          \
  lanes(                                                                                          \
      "cvt" suffix ".f32.f16", [](std::uint16_t a) __attribute__((always_inline))->float {        \
        return limited(widened<kF16>(a), {.saturate = saturate_});                                \
      }),                                                                                         \
      lanes(                                                                                      \
          "cvt" suffix ".f32.bf16", [](std::uint16_t a) __attribute__((always_inline))->float {   \
            return to_f32(widened<kBf16>(a), {.flush = flush_, .saturate = saturate_});           \
          }),                                                                                     \
      lanes(                                                                                      \
          "cvt" suffix ".f64.f32",                                                                \
          [](float a) -> double { return to_f64(a, {.flush = flush_, .saturate = saturate_}); }), \
      lanes(                                                                                      \
          "cvt" suffix ".f32.f32", [](float a) __attribute__((always_inline))->float {            \
            return to_f32(a, {.flush = flush_, .saturate = saturate_});                           \
          }),                                                                                     \
      lanes("cvt" suffix ".f64.bf16",                                                             \
            [](std::uint16_t a) -> double {                                                       \
              return limited(static_cast<double>(widened<kBf16>(a)), {.saturate = saturate_});    \
            }),                                                                                   \
      lanes("cvt" suffix ".f64.f16", [](std::uint16_t a) -> double {                              \
        return limited(static_cast<double>(widened<kF16>(a)), {.saturate = saturate_});           \
      })
#define INTEGRAL(suffix, rounding, type, T)                                                       \
  lanes("cvt" suffix ".f32.f32",                                                                  \
        [](float a) -> float { return rounded_to_integral(a, rounding); }),                       \
      lanes("cvt" suffix ".ftz.f32.f32",                                                          \
            [](float a) -> float { return rounded_to_integral(flushed(a), rounding); }),          \
      lanes("cvt" suffix ".f64.f64",                                                              \
            [](double a) -> double { return rounded_to_integral(a, rounding); }),                 \
      lanes("cvt" suffix ".bf16.bf16",                                                            \
            [](std::uint16_t a) -> std::uint16_t {                                                \
              return static_cast<std::uint16_t>(                                                  \
                  narrowed_nearest<kBf16>(rounded_to_integral(widened<kBf16>(a), rounding), {})); \
            }),                                                                                   \
      lanes("cvt" suffix ".f16.f16", [](std::uint16_t a) -> std::uint16_t {                       \
        return static_cast<std::uint16_t>(                                                        \
            narrowed_nearest<kF16>(rounded_to_integral(widened<kF16>(a), rounding), {}));         \
      })

#define LIMITED_MODES(MAKE)                                        \
  MAKE(".relu", Rounding::kNearestEven, true, false),              \
      MAKE(".rz.relu", Rounding::kZero, true, false),              \
      MAKE(".satfinite", Rounding::kNearestEven, false, true),     \
      MAKE(".rz.satfinite", Rounding::kZero, false, true),         \
      MAKE(".relu.satfinite", Rounding::kNearestEven, true, true), \
      MAKE(".rz.relu.satfinite", Rounding::kZero, true, true)
#define PACKED(suffix, rounding_, relu_, satfinite_)                             \
  PACKED_AS(suffix, "f16x2", kF16, std::uint32_t, rounding_, relu_, satfinite_), \
      PACKED_AS(suffix, "bf16x2", kBf16, std::uint32_t, rounding_, relu_, satfinite_)
#define PACKED_AS(suffix, type, kFormat, D, rounding_, relu_, satfinite_)                    \
  lanes(                                                                                     \
      "cvt" suffix "." type ".f32", [](float a, float b) __attribute__((always_inline))->D { \
        return static_cast<D>(packed<kFormat>(                                               \
            a, b, {.rounding = rounding_, .relu = relu_, .satfinite = satfinite_}));         \
      })
#define SCALAR(suffix, rounding_, relu_, satfinite_)                                               \
  lanes("cvt" suffix ".f16.f32",                                                                   \
        [](float a) -> std::uint16_t {                                                             \
          return static_cast<std::uint16_t>(to_narrow<kF16>(                                       \
              a, {.rounding = rounding_, .relu = relu_, .satfinite = satfinite_}));                \
        }),                                                                                        \
      lanes("cvt" suffix ".bf16.f32", [](float a) -> std::uint16_t {                               \
        return static_cast<std::uint16_t>(                                                         \
            to_narrow<kBf16>(a, {.rounding = rounding_, .relu = relu_, .satfinite = satfinite_})); \
      })

// fp8 pairs are in 16 bits.
#define FP8(type, kFormat, suffix, relu_)                                                          \
  PACKED_AS(".satfinite" suffix, type "x2", kFormat, std::uint16_t, Rounding::kNearestEven, relu_, \
            true),                                                                                 \
      lanes(                                                                                       \
          "cvt.satfinite" suffix "." type "x2.f16x2",                                              \
          [](std::uint32_t a) __attribute__((always_inline))->std::uint16_t {                      \
            return static_cast<std::uint16_t>(                                                     \
                repacked<kFormat, kF16>(a, {.relu = relu_, .satfinite = true}));                   \
          }),                                                                                      \
      lanes(                                                                                       \
          "cvt" suffix ".f16x2." type "x2",                                                        \
          [](std::uint16_t a) __attribute__((always_inline))->std::uint32_t {                      \
            return unpacked_to_f16x2<kFormat>(a, {.relu = relu_});                                 \
          })

#define TF32(suffix, ...) \
  lanes("cvt" suffix ".tf32.f32", [](float a) -> std::uint32_t { return to_tf32(a, __VA_ARGS__); })

constexpr LaneForm kConversionForms[] = {
    FROM_INTEGERS(INTEGER_TO_INTEGER, "u8", std::uint8_t),
    FROM_INTEGERS(INTEGER_TO_INTEGER, "s8", std::int8_t),
    FROM_INTEGERS(INTEGER_TO_INTEGER, "u16", std::uint16_t),
    FROM_INTEGERS(INTEGER_TO_INTEGER, "s16", std::int16_t),
    FROM_INTEGERS(INTEGER_TO_INTEGER, "u32", std::uint32_t),
    FROM_INTEGERS(INTEGER_TO_INTEGER, "s32", std::int32_t),
    FROM_INTEGERS(INTEGER_TO_INTEGER, "u64", std::uint64_t),
    FROM_INTEGERS(INTEGER_TO_INTEGER, "s64", std::int64_t),
    TO_INTEGER("u8", std::uint8_t),
    TO_INTEGER("s8", std::int8_t),
    TO_INTEGER("u16", std::uint16_t),
    TO_INTEGER("s16", std::int16_t),
    TO_INTEGER("u32", std::uint32_t),
    TO_INTEGER("s32", std::int32_t),
    TO_INTEGER("u64", std::uint64_t),
    TO_INTEGER("s64", std::int64_t),
    FROM_INTEGER("u8", std::uint8_t),
    FROM_INTEGER("s8", std::int8_t),
    FROM_INTEGER("u16", std::uint16_t),
    FROM_INTEGER("s16", std::int16_t),
    FROM_INTEGER("u32", std::uint32_t),
    FROM_INTEGER("s32", std::int32_t),
    FROM_INTEGER("u64", std::uint64_t),
    FROM_INTEGER("s64", std::int64_t),
    FLOAT_MODES(FLOAT_TO_FLOAT, "", Rounding::kNearestEven),
    FLOAT_MODES(FLOAT_TO_FLOAT, ".rz", Rounding::kZero),
    FLOAT_MODES(FLOAT_TO_FLOAT, ".rm", Rounding::kDown),
    FLOAT_MODES(FLOAT_TO_FLOAT, ".rp", Rounding::kUp),
    EXACT("", false, false),
    EXACT(".ftz", true, false),
    EXACT(".sat", false, true),
    EXACT(".ftz.sat", true, true),
    INTEGRAL_ROUNDINGS(INTEGRAL, "", float),
    PACKED("", Rounding::kNearestEven, false, false),
    PACKED(".rz", Rounding::kZero, false, false),
    LIMITED_MODES(PACKED),
    LIMITED_MODES(SCALAR),
    FP8("e4m3", kE4m3, "", false),
    FP8("e4m3", kE4m3, ".relu", true),
    FP8("e5m2", kE5m2, "", false),
    FP8("e5m2", kE5m2, ".relu", true),
    TF32("", {}),
    TF32(".relu", {.relu = true}),
    TF32(".satfinite", {.satfinite = true}),
    TF32(".satfinite.relu", {.relu = true, .satfinite = true}),
    TF32(".rz", {.rounding = Rounding::kZero}),
    TF32(".rz.relu", {.rounding = Rounding::kZero, .relu = true}),
    TF32(".rz.satfinite", {.rounding = Rounding::kZero, .satfinite = true}),
    TF32(".rz.satfinite.relu", {.rounding = Rounding::kZero, .relu = true, .satfinite = true}),
    TF32(".rna", {.rounding = Rounding::kNearestAway}),
    TF32(".rna.satfinite", {.rounding = Rounding::kNearestAway, .satfinite = true}),
};

}  // namespace
}  // namespace recto::ptx
