#include "cuda/bench/card_rates.h"

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "cuda/bench/blas_library.h"
#include "cuda/bench/device.h"

#if __has_include(<cublas_api.h>)
#include <cublas_api.h>
// Checks the values that blas_library.cc declares without these headers.
static_assert(CUBLAS_OP_N == 0 && CUDA_R_16BF == 14 && CUBLAS_COMPUTE_32F == 68 &&
              CUBLAS_GEMM_DEFAULT == -1);
#endif

namespace recto::bench {
namespace {

constexpr std::int64_t kCopiedBytes = std::int64_t{1} << 30;
constexpr int kRuns = 10;
constexpr int kRounds = 4096;
constexpr int kSums = 8;  // independent sums
constexpr int kWarps = 8;
constexpr std::int64_t kMatrixSize = 8192;
constexpr std::int64_t kMatrixBytes = kMatrixSize * kMatrixSize * 2;
static_assert(2 * kMatrixBytes <= kCopiedBytes);

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

// The best of several runs that do `work` each.
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

// Bytes per second. Each byte counts `counted` times: twice if it is read and written in the same
// memory.
Result<double> copy_rate(const ColdTimer& timer, void* to, const void* from, double counted) {
  return best_rate(timer, counted * kCopiedBytes, [&] {
    cudaMemcpyAsync(to, from, kCopiedBytes, cudaMemcpyDefault);
    return last_error();
  });
}

Result<double> mma_rate(const ColdTimer& timer, const DeviceBytes& sums) {
  const Result<Card> here = card();
  if (!here.is_ok()) return here.status();
  const int thread_blocks = static_cast<int>(here.value().num_multiprocessors) * 4;
  const double products = 2.0 * 16 * 8 * 16 * kSums * kRounds * kWarps * thread_blocks;
  return best_rate(timer, products, [&] {
    multiply<<<thread_blocks, kWarps * 32>>>(static_cast<float*>(sums.data()));
    return last_error();
  });
}

// Multiplies random matrices: zeros need less power, so clocks would stay higher.
Result<double> blas_rate(const ColdTimer& timer, const BlasLibrary& blas, const DeviceBytes& from,
                         const DeviceBytes& to) {
  fill_random(from, ElementType::kBf16, 1);
  const auto* a = static_cast<const std::byte*>(from.data());
  constexpr double kProducts = 2.0 * kMatrixSize * kMatrixSize * kMatrixSize;
  return best_rate(timer, kProducts,
                   [&] { return blas.multiply(a, a + kMatrixBytes, to.data(), kMatrixSize); });
}

}  // namespace

std::string CardRates::matrix_rate_by() const {
  if (blas_flops > mma_flops) return blas + ", 8192 x 8192 x 8192 in bf16";
  return "mma.sync from registers; " + blas + (blas_flops > 0 ? ": slower" : "");
}

Result<CardRates> card_rates() {
  const DeviceBytes from(kCopiedBytes);
  const DeviceBytes to(kCopiedBytes);
  const HostBytes host(kCopiedBytes);
  if (from.data() == nullptr || to.data() == nullptr) return too_little_memory(2 * kCopiedBytes);
  if (host.data() == nullptr) return Status::exhausted("the host cannot pin a GiB of memory");
  const ColdTimer timer;
  const Result<double> copied = copy_rate(timer, to.data(), from.data(), 2);
  RECTO_RETURN_IF_ERROR(copied.status());
  const Result<double> to_host = copy_rate(timer, host.data(), from.data(), 1);
  RECTO_RETURN_IF_ERROR(to_host.status());
  const Result<double> from_host = copy_rate(timer, to.data(), host.data(), 1);
  RECTO_RETURN_IF_ERROR(from_host.status());
  const Result<double> multiplied = mma_rate(timer, to);
  RECTO_RETURN_IF_ERROR(multiplied.status());
  CardRates rates;
  rates.copied_bytes = copied.value();
  rates.to_host_bytes = to_host.value();
  rates.from_host_bytes = from_host.value();
  rates.mma_flops = multiplied.value();
  const Result<BlasLibrary> blas = BlasLibrary::open();
  const Result<double> by_blas =
      blas.is_ok() ? blas_rate(timer, blas.value(), from, to) : Result<double>(blas.status());
  rates.blas = blas.is_ok() ? blas.value().name() : "no cuBLAS: ";
  if (by_blas.is_ok()) {
    rates.blas_flops = by_blas.value();
  } else {
    rates.blas += (blas.is_ok() ? ": " : "") + by_blas.status().message();
  }
  return rates;
}

}  // namespace recto::bench
