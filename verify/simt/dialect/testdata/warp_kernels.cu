#include "verify/simt/dialect/testdata/warp_kernels.cuh"

namespace {

__device__ int thread_index() {
  return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}

__device__ bool takes_part(unsigned mask) { return (mask >> (thread_index() % 32) & 1) != 0; }

}  // namespace

template <typename T>
__global__ void shuffle_values(ShuffleShape shape, const int* argument, const T* values, T* out) {
  const auto [how, mask, width] = shape;
  if (!takes_part(mask)) return;
  const int i = thread_index();
  const auto delta = static_cast<unsigned>(argument[i]);
  if (how == Shuffle::kIndex) out[i] = __shfl_sync(mask, values[i], argument[i], width);
  if (how == Shuffle::kUp) out[i] = __shfl_up_sync(mask, values[i], delta, width);
  if (how == Shuffle::kDown) out[i] = __shfl_down_sync(mask, values[i], delta, width);
  if (how == Shuffle::kXor) out[i] = __shfl_xor_sync(mask, values[i], argument[i], width);
}

#define INSTANTIATE_SHUFFLE(T) \
  template __global__ void shuffle_values(ShuffleShape, const int*, const T*, T*)
INSTANTIATE_SHUFFLE(int);
INSTANTIATE_SHUFFLE(float);
INSTANTIATE_SHUFFLE(double);
INSTANTIATE_SHUFFLE(long long);
INSTANTIATE_SHUFFLE(unsigned long);
INSTANTIATE_SHUFFLE(__half);
INSTANTIATE_SHUFFLE(__half2);
#undef INSTANTIATE_SHUFFLE

__global__ void vote_on(unsigned mask, const int* predicate, Votes* out) {
  if (!takes_part(mask)) return;
  const int i = thread_index();
  out[i].ballot = __ballot_sync(mask, predicate[i]);
  out[i].any = __any_sync(mask, predicate[i]);
  out[i].all = __all_sync(mask, predicate[i]);
  out[i].active = __activemask();
}

template <typename T>
__global__ void match_values(unsigned mask, const T* values, unsigned* out) {
  if (!takes_part(mask)) return;
  const int i = thread_index();
  out[i] = __match_any_sync(mask, values[i]);
}

template __global__ void match_values(unsigned, const unsigned*, unsigned*);
template __global__ void match_values(unsigned, const float*, unsigned*);
template __global__ void match_values(unsigned, const long long*, unsigned*);
template __global__ void match_values(unsigned, const double*, unsigned*);

__global__ void reduce_values(unsigned mask, const unsigned* values, Reductions* out) {
  if (!takes_part(mask)) return;
  const int i = thread_index();
  const unsigned value = values[i];
  const int signed_value = static_cast<int>(value);
  out[i].add = __reduce_add_sync(mask, value);
  out[i].min = __reduce_min_sync(mask, value);
  out[i].max = __reduce_max_sync(mask, value);
  out[i].all_bits = __reduce_and_sync(mask, value);
  out[i].any_bits = __reduce_or_sync(mask, value);
  out[i].odd_bits = __reduce_xor_sync(mask, value);
  out[i].signed_add = __reduce_add_sync(mask, signed_value);
  out[i].signed_min = __reduce_min_sync(mask, signed_value);
  out[i].signed_max = __reduce_max_sync(mask, signed_value);
}
