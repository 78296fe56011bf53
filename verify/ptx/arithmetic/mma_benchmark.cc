// Prints the time of one instruction of a warp: mma in both models, and what surrounds it in
// attention kernels.

#include "verify/ptx/arithmetic/mma.h"

#include <benchmark/benchmark.h>

#include "verify/ptx/arithmetic/approximation.h"
#include "verify/ptx/arithmetic/conversion.h"

namespace recto::ptx {
namespace {

// Registers with numbers around 1, for every type.
struct Registers {
  RegisterRow a[4];
  RegisterRow b[2];
  RegisterRow c[4];

  Registers() {
    for (int lane = 0; lane < kFragmentLanes; ++lane) {
      const auto low_bits = static_cast<std::uint32_t>(lane);
      for (auto& row : a) row[lane] = 0x3c003c00 + low_bits;
      for (auto& row : b) row[lane] = 0x38003800 + low_bits;
      for (auto& row : c) row[lane] = bits_of(1.0F);
    }
  }
};

void measure_mma(benchmark::State& state, const MmaShape& shape, const SumModel& model) {
  Registers registers;
  RegisterRow d[4];
  for (auto _ : state) {
    mma(shape, {registers.a, registers.b, registers.c, d}, model);
    benchmark::DoNotOptimize(d);
  }
}
constexpr SumModel kTruncated = {.sum = MatrixSum::kTruncated};
constexpr MmaShape kF16Shape = {};
constexpr MmaShape kBf16Shape = {.a = FactorType::kBf16, .b = FactorType::kBf16};
constexpr MmaShape kFp8Shape = {.depth = 32, .a = FactorType::kE4m3, .b = FactorType::kE4m3};
BENCHMARK_CAPTURE(measure_mma, f16, kF16Shape, SumModel{});
BENCHMARK_CAPTURE(measure_mma, bf16, kBf16Shape, SumModel{});
BENCHMARK_CAPTURE(measure_mma, e4m3, kFp8Shape, SumModel{});
BENCHMARK_CAPTURE(measure_mma, f16_truncated, kF16Shape, kTruncated);

void load_fragment_transposed(benchmark::State& state) {
  Matrix8x8 matrix = {};
  RegisterRow fragment;
  for (auto _ : state) {
    benchmark::DoNotOptimize(matrix);
    load_fragment(matrix, MatrixOrder::kTransposed, fragment);
    benchmark::DoNotOptimize(fragment);
  }
}
BENCHMARK(load_fragment_transposed);

// Lanes without the vectorisation that an executor's flags allow.
void ex2_of_lanes(benchmark::State& state) {
  float lanes[kFragmentLanes] = {};
  for (auto _ : state) {
    benchmark::DoNotOptimize(lanes);
    for (float& x : lanes) x = accurate_ex2(x, {}) - 1;
  }
}
BENCHMARK(ex2_of_lanes);

void pack_lanes_to_bf16(benchmark::State& state) {
  float lanes[kFragmentLanes] = {};
  RegisterRow pairs;
  for (auto _ : state) {
    benchmark::DoNotOptimize(lanes);
    for (int i = 0; i < kFragmentLanes; ++i) pairs[i] = packed<kBf16>(lanes[i], lanes[i], {});
    benchmark::DoNotOptimize(pairs);
  }
}
BENCHMARK(pack_lanes_to_bf16);

}  // namespace
}  // namespace recto::ptx
