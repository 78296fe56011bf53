#include "cuda/bench/card_rates.h"

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <algorithm>

#include "cuda/bench/device.h"

namespace recto::bench {
namespace {

constexpr int kRuns = 10;
constexpr int kRounds = 4096;
constexpr int kSums = 8;  // that do not wait for each other
constexpr int kWarps = 8;

// 2 * 16 * 8 * 16 operations for each sum, round and warp.
__global__ void __launch_bounds__(kWarps * 32) multiply(float* sums) {
  unsigned a[4];
  unsigned b[2];
  for (unsigned& pair : a) pair = 0x3f803f80U + threadIdx.x;
  for (unsigned& pair : b) pair = 0x3f803f80U;
  float sum[kSums][4] = {};
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (int i = 0; i < kSums; ++i) multiply_accumulate_m16n8k16<__nv_bfloat16>(sum[i], a, b);
  }
  float whole = 0;
  for (const auto& part : sum) {
    for (const float element : part) whole += element;
  }
  sums[blockIdx.x * blockDim.x + threadIdx.x] = whole;
}

// Of `work` in a run.
Result<double> best_rate(const ColdTimer& timer, double work,
                         const std::function<Status()>& launch) {
  double best = 0;
  for (int run = 0; run < kRuns; ++run) {
    const Result<double> seconds = timer.seconds_of(launch);
    if (!seconds.is_ok()) return seconds.status();
    best = std::max(best, work / seconds.value());
  }
  return best;
}

Status last_error() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? Status::ok() : Status::failed(cudaGetErrorString(error));
}

}  // namespace

Result<CardRates> card_rates() {
  const Result<Card> here = card();
  if (!here.is_ok()) return here.status();
  constexpr std::int64_t kCopied = std::int64_t{1} << 30;
  const DeviceBytes from(kCopied);
  const DeviceBytes to(kCopied);
  const ColdTimer timer;
  const Result<double> copied = best_rate(timer, 2.0 * kCopied, [&] {
    cudaMemcpyAsync(to.data(), from.data(), kCopied, cudaMemcpyDeviceToDevice);
    return last_error();
  });
  if (!copied.is_ok()) return copied.status();
  const int thread_blocks = static_cast<int>(here.value().num_multiprocessors) * 4;
  const double products = 2.0 * 16 * 8 * 16 * kSums * kRounds * kWarps * thread_blocks;
  const Result<double> multiplied = best_rate(timer, products, [&] {
    multiply<<<thread_blocks, kWarps * 32>>>(static_cast<float*>(to.data()));
    return last_error();
  });
  if (!multiplied.is_ok()) return multiplied.status();
  return CardRates{copied.value(), multiplied.value()};
}

}  // namespace recto::bench
