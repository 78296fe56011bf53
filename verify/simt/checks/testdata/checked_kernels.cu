#include "verify/simt/checks/testdata/checked_kernels.cuh"

#include <cstring>

#include "verify/simt/checks/testdata/checked_device.h"

namespace recto::simt {
namespace {

__device__ int index() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }
__device__ int own() { return static_cast<int>(threadIdx.x); }

__device__ void wait(int barrier) {
  if (barrier == 1) __syncwarp();
  if (barrier == 2) __syncthreads();
}

}  // namespace

const int kLineOfCopyShifted = __LINE__ + 2;
__global__ void copy_shifted(const float* in, float* out, int shift) {
  out[index()] = in[index() + shift];
}

__global__ void copy_in_fours(const float* in, float* out, int shift) {
  const auto four = *reinterpret_cast<const float4*>(in + 4 * index() + shift);
  *reinterpret_cast<float4*>(out + 4 * index()) = four;
}

__global__ void copy_at(const float* in, float* out, std::int64_t offset) {
  out[index()] = *(in + offset);
}

__global__ void copy_by_memcpy(const float* in, float* out, int count) {
  memcpy(out, in, static_cast<std::size_t>(count) * sizeof(float));
}

__global__ void fill_by_memset(float* out, int count) {
  memset(out, 0, static_cast<std::size_t>(count) * sizeof(float));
}

__global__ void sum_shared(float* out, int first) {
  KERNEL_SHARED(float, parts, [64]);
  KERNEL_SHARED(float, others, [64]);
  parts[own()] = 1.0F;
  others[own()] = 2.0F;
  __syncthreads();
  float sum = 0.0F;
  for (int i = 0; i < 64; ++i) sum += parts[first + i];
  out[own()] = sum + others[own()];
}

__global__ void sum_dynamic_shared(float* out, int first) {
  KERNEL_DYNAMIC_SHARED(float, parts);
  parts[own()] = 1.0F;
  __syncthreads();
  float sum = 0.0F;
  for (int i = 0; i < 64; ++i) sum += parts[first + i];
  out[own()] = sum;
}

namespace {

const float kConstants[4] = {0.5F, 0.25F, 0.125F, 1.0F};
float changeable[4] = {1.0F, 2.0F, 3.0F, 4.0F};

}  // namespace

__global__ void add_constants(float* out, float change) {
  out[own()] = kConstants[own() % 4] + changeable[own() % 4];
  if (change != 0.0F) changeable[own() % 4] = change;
}

__global__ void sum_local(float* out, int shift) {
  KERNEL_SHARED(const float*, locals, [32]);
  volatile float local[4] = {1.0F, 2.0F, 3.0F, 4.0F};
  locals[own()] = const_cast<const float*>(local);
  __syncthreads();
  const float* chosen = locals[(own() + 32 - shift) % 32];
  out[own()] = chosen[0] + chosen[3];
  __syncthreads();
}

__global__ void gather_pieces(const float* pool, const int* block_table, float* out, int shift) {
  const int blocks = static_cast<int>(gridDim.x);
  const int piece = block_table[(static_cast<int>(blockIdx.x) + shift) % blocks];
  out[index()] = pool[32 * piece + own()];
}

const int kLineOfSpin = __LINE__ + 2;
__global__ void spin(const int* flag, int* out) {
  while (*const_cast<const volatile int*>(flag) == 0) {
  }
  out[own()] = 1;
}

// Each thread waits, without a barrier, until all threads before it have had their turn.
__global__ void pass_baton(int* turns, int* out) {
  while (atomicAdd(turns, 0) != own()) {
  }
  out[own()] = atomicAdd(turns, 1);
}

__global__ void exchange_in_warp(float* out, int barrier) {
  KERNEL_SHARED(float, slots, [32]);
  slots[own()] = 1.0F;
  wait(barrier);
  out[own()] = slots[31 - own()];
}

const int kLineOfExchangeByShuffle = __LINE__ + 3;
__global__ void exchange_by_shuffle(float* out, int barrier) {
  KERNEL_SHARED(float, slots, [32]);
  slots[own()] = 1.0F;
  const float shuffled = __shfl_xor_sync(0xffffffff, 1.0F, 1);
  wait(barrier);
  out[own()] = slots[31 - own()] + shuffled;
}

__global__ void exchange_in_block(float* out, int barrier) {
  KERNEL_SHARED(float, slots, [64]);
  slots[own()] = 1.0F;
  wait(barrier);
  out[own()] = slots[63 - own()];
}

// All threads read what thread 0 wrote, then thread 0 writes again.
__global__ void reuse_shared(float* out, int barrier) {
  KERNEL_SHARED(float, shared, [1]);
  float sum = 0.0F;
  for (int i = 0; i < 3; ++i) {
    if (own() == 0) shared[0] = 1.0F;
    __syncthreads();
    sum += shared[0];
    wait(barrier);
  }
  out[own()] = sum;
}

// Lanes exchange values within their half of the warp.
__global__ void exchange_in_half_warps(float* out, unsigned mask) {
  KERNEL_SHARED(float, slots, [32]);
  slots[own()] = 1.0F;
  __syncwarp(own() < 16 ? mask & 0xffff : mask & 0xffff0000);
  out[own()] = slots[own() ^ 1];
  // Only after this may a lane read the other half's values.
  __syncwarp();
  out[own()] += slots[31 - own()];
}

// The second write happens while others may still read the first value.
__global__ void exchange_twice(float* out, int barrier) {
  KERNEL_SHARED(float, slots, [32]);
  slots[own()] = 1.0F;
  __syncwarp();
  const float first = slots[own() ^ 1];
  wait(barrier);
  slots[own()] = 2.0F;
  __syncwarp();
  out[own()] = first + slots[own() ^ 1];
}

__global__ void own_halves(std::uint16_t* out, int shift) {
  out[own()] = 1;
  out[own() + shift] = 2;
}

__global__ void own_bytes(std::uint8_t* out, int shift) {
  out[own()] = 1;
  out[own() + shift] = 2;
}

// Thread 0 writes whole words; then its neighbours own a half of each, or thread 1 owns all.
__global__ void own_halves_of_words(std::uint32_t* words, int is_split) {
  if (own() == 0) words[0] = 7;
  __syncthreads();
  auto* halves = reinterpret_cast<std::uint16_t*>(words);
  if (own() < 2) halves[is_split != 0 ? own() : 1] = static_cast<std::uint16_t>(own());
}

__global__ void count_up(int* count, int kind) {
  if (kind == 1 || (kind == 2 && index() % 2 == 0)) {
    atomicAdd(count, 1);
  } else {
    *count += 1;
  }
}

__global__ void count_up_in_shared(int* out, int kind) {
  KERNEL_SHARED(int, count, [1]);
  if (own() == 0) count[0] = 0;
  __syncthreads();
  count_up(count, kind);
  __syncthreads();
  out[own()] = count[0];
}

__global__ void write_by_blocks(float* out, int stride) {
  out[static_cast<int>(blockIdx.x) * stride + own()] = 1.0F;
}

__global__ void hand_over_at_grid_barrier(float* data, float* out, int has_barrier) {
  const auto block = static_cast<int>(blockIdx.x);
  data[block] = 1.0F;
  if (has_barrier != 0) grid_barrier();
  out[block] = data[static_cast<int>(gridDim.x) - 1 - block];
  if (has_barrier != 0) grid_barrier();
  data[block] = 2.0F;
}

__global__ void hand_over_by_object(float* out, int is_acquired) {
  KERNEL_SHARED(float, data, [2]);
  if (own() == 0) {
    data[0] = 1.0F;
    release(data);
    data[1] = 2.0F;
  } else if (own() == 32) {
    if (is_acquired != 0) acquire(data);
    out[0] = data[0];
    if (is_acquired == 2) out[1] = data[1];
  }
}

__global__ void read_before_write(float* out, int is_written) {
  KERNEL_SHARED(float, sum, [32]);
  if (is_written != 0) sum[own()] = 0.0F;
  for (int i = 0; i < 4; ++i) sum[own()] += 1.0F;
  out[own()] = sum[own()];
}

__global__ void exchange_first(int* out, int is_added) {
  if (is_added != 0) {
    atomicAdd(&out[own()], 1);
  } else {
    atomicExch(&out[own()], 1);
  }
}

__global__ void accumulate(float* out, int is_written) {
  if (is_written != 0) out[own()] = 0.0F;
  out[own()] += 1.0F;
}

__global__ void write_some(std::uint8_t* out, int first, int count) {
  if (own() >= first && own() < first + count) out[own()] = 1;
}

__global__ void read_words(const std::uint32_t* in, std::uint32_t* out) { out[own()] = in[own()]; }

__global__ void stage(const float* in, float* out, MissingWait missing) {
  KERNEL_SHARED(float, staged, [32]);
  if (own() % 4 == 0) begin_copy(staged + own(), in + own(), 16);
  if (missing != MissingWait::kBeforeRead && missing != MissingWait::kBeforeExit) finish_copies();
  if (missing != MissingWait::kBarrier) __syncthreads();
  if (missing != MissingWait::kBeforeExit) out[own()] = staged[31 - own()];
  if (missing == MissingWait::kBeforeRead) finish_copies();
}

__global__ void change_source(float* in, float* out, int is_early) {
  KERNEL_SHARED(float, staged, [4]);
  if (own() == 0) begin_copy(staged, in, 16);
  if (own() == 1 && is_early != 0) in[2] = 1.0F;
  finish_copies();
  __syncthreads();
  if (own() == 1) in[2] = 2.0F;
  out[own()] = staged[own()];
}

__global__ void copy_to(const float* in, float* out, int to) {
  begin_copy(out + to, in, 16);
  finish_copies();
}

// A loop that a compiler may turn into memset.
__global__ void fill_shared_in_loop(float* out, int count) {
  KERNEL_SHARED(float, row, [256]);
  if (own() == 0) {
    for (int i = 0; i < count; ++i) row[i] = 0.0F;
  }
  __syncthreads();
  float sum = 0.0F;
  for (int i = own(); i < 256; i += 32) sum += row[i];
  out[own()] = sum;
}

}  // namespace recto::simt
