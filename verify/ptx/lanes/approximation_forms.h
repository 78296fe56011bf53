#pragma once

// Forms of approximate instructions, with their most accurate values. The frequent ones are
// vectorised.

#include "verify/ptx/arithmetic/approximation.h"
#include "verify/ptx/lanes/lane_loops.h"

namespace recto::ptx {
namespace {

#define APPROXIMATE(op, function)                                                            \
  lanes(op ".approx.f32",                                                                    \
        [](float a) -> float { return approximate(ApproximateFunction::function, a, {}); }), \
      lanes(op ".approx.ftz.f32", [](float a) -> float {                                     \
        return approximate(ApproximateFunction::function, a, {.flush = true});               \
      })
#define ACCURATE(op, expression)                                                    \
  lanes(                                                                            \
      op ".approx.f32", [](float a) __attribute__((always_inline))->float {         \
        constexpr FloatMode mode = {};                                              \
        return expression;                                                          \
      }),                                                                           \
      lanes(                                                                        \
          op ".approx.ftz.f32", [](float a) __attribute__((always_inline))->float { \
            constexpr FloatMode mode = {.flush = true};                             \
            return expression;                                                      \
          })
#define NARROW(op, ftz, type, kFormat, function)                                              \
  lanes(op ".approx" ftz "." type,                                                            \
        [](std::uint16_t a) -> std::uint16_t {                                                \
          return static_cast<std::uint16_t>(                                                  \
              approximate_narrow<kFormat>(ApproximateFunction::function, a, {}));             \
        }),                                                                                   \
      lanes(op ".approx" ftz "." type "x2", [](std::uint32_t a) -> std::uint32_t {            \
        return approximate_narrow<kFormat>(ApproximateFunction::function, a & 0xffff, {}) |   \
               approximate_narrow<kFormat>(ApproximateFunction::function, a >> 16, {}) << 16; \
      })
#define QUOTIENT(name, expression, flush_)                               \
  lanes(                                                                 \
      name, [](float a, float b) __attribute__((always_inline))->float { \
        constexpr FloatMode mode = {.flush = flush_};                    \
        return expression;                                               \
      })

constexpr LaneForm kApproximationForms[] = {
    ACCURATE("ex2", accurate_ex2(a, mode)),
    ACCURATE("rcp", rcp(a, mode)),
    ACCURATE("rsqrt", accurate_rsqrt(a, mode)),
    ACCURATE("sqrt", recto::ptx::sqrt(a, mode)),
    APPROXIMATE("lg2", kLg2),
    APPROXIMATE("sin", kSin),
    APPROXIMATE("cos", kCos),
    lanes("tanh.approx.f32",
          [](float a) -> float { return approximate(ApproximateFunction::kTanh, a, {}); }),
    QUOTIENT("div.approx.f32", accurate_div(a, b, mode), false),
    QUOTIENT("div.approx.ftz.f32", accurate_div(a, b, mode), true),
    QUOTIENT("div.full.f32", recto::ptx::div(a, b, mode), false),
    QUOTIENT("div.full.ftz.f32", recto::ptx::div(a, b, mode), true),
    NARROW("ex2", "", "f16", kF16, kEx2),
    NARROW("ex2", ".ftz", "bf16", kBf16, kEx2),
    NARROW("tanh", "", "f16", kF16, kTanh),
    NARROW("tanh", "", "bf16", kBf16, kTanh),
    // The ISA documents no error of it either: two roundings.
    lanes("rsqrt.approx.f64",
          [](double a) -> double { return rcp(recto::ptx::sqrt(a, FloatMode{}), FloatMode{}); }),
    lanes("rcp.approx.ftz.f64",
          [](double a) -> double { return approximate_upper_half(ApproximateFunction::kRcp, a); }),
    lanes(
        "rsqrt.approx.ftz.f64",
        [](double a) -> double { return approximate_upper_half(ApproximateFunction::kRsqrt, a); }),
};

}  // namespace
}  // namespace recto::ptx
