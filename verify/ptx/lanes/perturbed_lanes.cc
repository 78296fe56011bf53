// Approximate instructions whose results are off by up to their documented errors. `Step::detail`
// is the seed.

#include <unordered_map>

#include "verify/ptx/arithmetic/approximation.h"
#include "verify/ptx/lanes/step.h"

namespace recto::ptx {
namespace {

template <typename T>
T* row(std::byte* registers, ValuePlace place) {
  return reinterpret_cast<T*>(registers + place);
}

constexpr ApproximationMode mode_of(const Step& step, bool flush) {
  return {Approximation::kPerturbed, step.detail, flush};
}

template <ApproximateFunction kFunction, bool kFlush>
void run_unary(std::byte* registers, const Step& step) {
  const auto* const a = row<std::uint32_t>(registers, step.a);
  auto* const d = row<std::uint32_t>(registers, step.d);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    d[lane] = bits_of(approximate(kFunction, float_of(a[lane]), mode_of(step, kFlush)));
  }
}

template <ApproximateFunction kFunction, bool kFlush>
void run_quotient(std::byte* registers, const Step& step) {
  const auto* const a = row<std::uint32_t>(registers, step.a);
  const auto* const b = row<std::uint32_t>(registers, step.b);
  auto* const d = row<std::uint32_t>(registers, step.d);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    d[lane] = bits_of(approximate_quotient(kFunction, float_of(a[lane]), float_of(b[lane]),
                                           mode_of(step, kFlush)));
  }
}

// One number for each lane, or two in 32 bits.
template <ApproximateFunction kFunction, FloatFormat kFormat, typename Bits>
void run_narrow(std::byte* registers, const Step& step) {
  const auto* const a = row<Bits>(registers, step.a);
  auto* const d = row<Bits>(registers, step.d);
  const ApproximationMode mode = mode_of(step, false);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    std::uint32_t result = approximate_narrow<kFormat>(kFunction, a[lane] & 0xffff, mode);
    if constexpr (sizeof(Bits) == 4) {
      result |= approximate_narrow<kFormat>(kFunction, a[lane] >> 16, mode) << 16;
    }
    d[lane] = static_cast<Bits>(result);
  }
}

using enum ApproximateFunction;

const std::unordered_map<std::string_view, LaneFunction>& functions() {
  static const std::unordered_map<std::string_view, LaneFunction> kFunctions = {
      {"ex2.approx.f32", run_unary<kEx2, false>},
      {"ex2.approx.ftz.f32", run_unary<kEx2, true>},
      {"lg2.approx.f32", run_unary<kLg2, false>},
      {"lg2.approx.ftz.f32", run_unary<kLg2, true>},
      {"rcp.approx.f32", run_unary<kRcp, false>},
      {"rcp.approx.ftz.f32", run_unary<kRcp, true>},
      {"rsqrt.approx.f32", run_unary<kRsqrt, false>},
      {"rsqrt.approx.ftz.f32", run_unary<kRsqrt, true>},
      {"sqrt.approx.f32", run_unary<kSqrt, false>},
      {"sqrt.approx.ftz.f32", run_unary<kSqrt, true>},
      {"sin.approx.f32", run_unary<kSin, false>},
      {"sin.approx.ftz.f32", run_unary<kSin, true>},
      {"cos.approx.f32", run_unary<kCos, false>},
      {"cos.approx.ftz.f32", run_unary<kCos, true>},
      {"tanh.approx.f32", run_unary<kTanh, false>},
      {"div.approx.f32", run_quotient<kDiv, false>},
      {"div.approx.ftz.f32", run_quotient<kDiv, true>},
      {"div.full.f32", run_quotient<kDivFull, false>},
      {"div.full.ftz.f32", run_quotient<kDivFull, true>},
      {"ex2.approx.f16", run_narrow<kEx2, kF16, std::uint16_t>},
      {"ex2.approx.f16x2", run_narrow<kEx2, kF16, std::uint32_t>},
      {"ex2.approx.ftz.bf16", run_narrow<kEx2, kBf16, std::uint16_t>},
      {"ex2.approx.ftz.bf16x2", run_narrow<kEx2, kBf16, std::uint32_t>},
      {"tanh.approx.f16", run_narrow<kTanh, kF16, std::uint16_t>},
      {"tanh.approx.f16x2", run_narrow<kTanh, kF16, std::uint32_t>},
      {"tanh.approx.bf16", run_narrow<kTanh, kBf16, std::uint16_t>},
      {"tanh.approx.bf16x2", run_narrow<kTanh, kBf16, std::uint32_t>}};
  return kFunctions;
}

}  // namespace

LaneFunction find_perturbed_function(std::string_view form) {
  const auto found = functions().find(form);
  return found == functions().end() ? nullptr : found->second;
}

}  // namespace recto::ptx
