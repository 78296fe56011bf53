#pragma once

// The framework's state of random numbers, which parameters of kernels hold. Nothing here draws
// any.

#include <cstdint>
#include <tuple>

namespace at {

struct PhiloxCudaState {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

}  // namespace at

namespace at::cuda::philox {

__host__ __device__ inline std::tuple<std::uint64_t, std::uint64_t> unpack(PhiloxCudaState state) {
  return {state.seed, state.offset};
}

}  // namespace at::cuda::philox
