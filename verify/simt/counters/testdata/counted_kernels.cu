#include "verify/simt/counters/testdata/counted_kernels.cuh"

namespace recto::simt {
namespace {

__device__ int own() { return static_cast<int>(threadIdx.x); }

}  // namespace

__global__ void copy_strided(const float* in, float* out, int stride) {
  out[own()] = in[own() * stride];
}

__global__ void copy_fours(const float* in, float* out) {
  reinterpret_cast<float4*>(out)[own()] = reinterpret_cast<const float4*>(in)[own()];
}

__global__ void read_one(const float* in, float* out) { out[own()] = in[0]; }

__global__ void pass_strided(float* out, int stride) {
  KERNEL_SHARED(float, tile, [32 * 33]);
  tile[own() * stride] = 1.0F;
  __syncthreads();
  out[own()] = tile[own() * stride];
}

namespace {

__device__ int place(int stride, int shift) { return own() % 8 * stride + own() / 8 * shift; }

}  // namespace

__global__ void read_shared_twos(float* out, int stride, int shift) {
  KERNEL_SHARED_ALIGNED(16, float, tile, [4096]);
  tile[own()] = 0.0F;
  __syncthreads();
  const float2 two = *reinterpret_cast<const float2*>(tile + place(stride, shift));
  out[own()] = two.x + two.y;
}

__global__ void read_shared_fours(float* out, int stride, int shift) {
  KERNEL_SHARED_ALIGNED(16, float, tile, [4096]);
  tile[own()] = 0.0F;
  __syncthreads();
  const float4 four = *reinterpret_cast<const float4*>(tile + place(stride, shift));
  out[own()] = four.x + four.y + four.z + four.w;
}

__global__ void load_rows(unsigned* out, int stride, int shift) {
  KERNEL_SHARED_ALIGNED(16, float, tile, [4096]);
  tile[own()] = 0.0F;
  __syncthreads();
  unsigned fragment[4];
  load_matrix_x4(fragment, tile + place(stride, shift));
  out[own()] = fragment[0] + fragment[1] + fragment[2] + fragment[3];
}

__global__ void read_twice_in_odd_lanes(const float* in, float* out) {
  float sum = 0.0F;
  for (int i = 0; i <= own() % 2; ++i) sum += in[own() + 32 * i];
  out[own()] = sum;
}

__global__ void count_operations(float* out, int rounds) {
  float value = 1.0F;
  for (int i = 0; i < rounds; ++i) {
    value += __shfl_xor_sync(0xffffffff, value, 1);
    __syncwarp();
    __syncthreads();
  }
  out[own()] = value;
}

const int kLineOfCopyTwice = __LINE__ + 2;
__global__ void copy_twice(const float* in, float* out) {
  out[own()] = in[own()];
  out[own() + 64] = in[own() * 2];
}

const int kLineOfReadApart = __LINE__ + 2;
__global__ void read_apart(const float* in, float* out) {
  const float first = in[own() * 8];
  out[own()] = first;
}

const int kLineOfVotes = __LINE__ + 2;
__global__ void vote_and_multiply(unsigned* out) {
  const unsigned ballot = __ballot_sync(0xffffffff, own() % 3);
  const int any = __any_sync(0xffffffff, own() > 5);
  const int all = __all_sync(0xffffffff, own() > 5);
  float sum[4] = {};
  const unsigned a[4] = {};
  const unsigned b[2] = {};
  multiply_accumulate_m16n8k16<__half>(sum, a, b);
  out[own()] = ballot + static_cast<unsigned>(any + all) + (sum[0] == 0.0F ? 1U : 0U);
}

__global__ void add_in_pairs(float* sums) { atomicAdd(sums + own() / 2, 1.0F); }

}  // namespace recto::simt
