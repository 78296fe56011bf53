#include "verify/simt/dialect/testdata/matrix_kernels.cuh"

#include <kernel_ptx.h>

namespace {

__device__ void store(unsigned* out, const unsigned* fragment, int count) {
  for (int i = 0; i < count; ++i) out[threadIdx.x * 4 + i] = fragment[i];
}

template <typename T>
__device__ void multiply(MatrixShape shape, const unsigned* a, const unsigned* b, float* sum) {
  const unsigned lane = threadIdx.x;
  float own[4] = {sum[lane * 4], sum[lane * 4 + 1], sum[lane * 4 + 2], sum[lane * 4 + 3]};
  if (shape == MatrixShape::kM16n8k16) {
    const unsigned fragment_a[4] = {a[lane * 4], a[lane * 4 + 1], a[lane * 4 + 2], a[lane * 4 + 3]};
    const unsigned fragment_b[2] = {b[lane * 2], b[lane * 2 + 1]};
    multiply_accumulate_m16n8k16<T>(own, fragment_a, fragment_b);
  } else {
    const unsigned fragment_a[2] = {a[lane * 4], a[lane * 4 + 1]};
    const unsigned fragment_b[1] = {b[lane * 2]};
    multiply_accumulate_m16n8k8<T>(own, fragment_a, fragment_b);
  }
  for (int i = 0; i < 4; ++i) sum[lane * 4 + i] = own[i];
}

}  // namespace

__global__ void load_plain(const unsigned short* matrices, int count, unsigned* out) {
  KERNEL_SHARED_ALIGNED(16, unsigned short, tile, [4 * 64]);
  for (int i = threadIdx.x; i < count * 64; i += 32) tile[i] = matrices[i];
  __syncwarp();
  // Lanes whose address is not used pass one that may not be read.
  const int lane = static_cast<int>(threadIdx.x);
  const void* row = lane < 8 * count ? tile + lane * 8 : nullptr;
  unsigned one[1];
  unsigned two[2];
  unsigned four[4];
  if (count == 1) {
    load_matrix_x1(one, row);
    store(out, one, 1);
  } else if (count == 2) {
    load_matrix_x2(two, row);
    store(out, two, 2);
  } else {
    load_matrix_x4(four, row);
    store(out, four, 4);
  }
}

__global__ void load_transposed(const unsigned short* matrices, int count, unsigned* out) {
  KERNEL_SHARED_ALIGNED(16, unsigned short, tile, [4 * 64]);
  for (int i = threadIdx.x; i < count * 64; i += 32) tile[i] = matrices[i];
  __syncwarp();
  const int lane = static_cast<int>(threadIdx.x);
  const void* row = lane < 8 * count ? tile + lane * 8 : nullptr;
  unsigned one[1];
  unsigned two[2];
  unsigned four[4];
  if (count == 1) {
    load_matrix_transposed_x1(one, row);
    store(out, one, 1);
  } else if (count == 2) {
    load_matrix_transposed_x2(two, row);
    store(out, two, 2);
  } else {
    load_matrix_transposed_x4(four, row);
    store(out, four, 4);
  }
}

__global__ void multiply_half(MatrixShape shape, const unsigned* a, const unsigned* b, float* sum) {
  multiply<__half>(shape, a, b, sum);
}

__global__ void multiply_bfloat16(MatrixShape shape, const unsigned* a, const unsigned* b,
                                  float* sum) {
  multiply<__nv_bfloat16>(shape, a, b, sum);
}

__global__ void multiply_matrices(const __half* a, const __half* b, float* product) {
  KERNEL_SHARED_ALIGNED(16, __half, tile_a, [16][16]);
  KERNEL_SHARED_ALIGNED(16, __half, tile_b, [16][8]);
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 256; i += 32) tile_a[i / 16][i % 16] = a[i];
  for (unsigned i = lane; i < 128; i += 32) tile_b[i / 8][i % 8] = b[i];
  __syncwarp();
  unsigned fragment_a[4];
  unsigned fragment_b[2];
  // The quarters of a, in the order of their registers: rows first.
  load_matrix_x4(fragment_a, &tile_a[lane % 16][lane / 16 * 8]);
  load_matrix_transposed_x2(fragment_b, &tile_b[lane % 16][0]);
  float sum[4] = {};
  multiply_accumulate_m16n8k16<__half>(sum, fragment_a, fragment_b);
  const unsigned row = lane / 4;
  const unsigned column = lane % 4 * 2;
  product[row * 8 + column] = sum[0];
  product[row * 8 + column + 1] = sum[1];
  product[(row + 8) * 8 + column] = sum[2];
  product[(row + 8) * 8 + column + 1] = sum[3];
}

__global__ void load_wrongly(MatrixFault fault, unsigned* out) {
  KERNEL_SHARED_ALIGNED(16, unsigned short, tile, [64]);
  tile[threadIdx.x] = 0;
  tile[threadIdx.x + 32] = 0;
  __syncwarp();
  unsigned fragment[1];
  const void* row = tile + threadIdx.x % 8 * 8;
  if (fault == MatrixFault::kMisalignedRow && threadIdx.x == 3) row = tile + 4;
  if (fault == MatrixFault::kGlobalRow && threadIdx.x == 3) row = out;
  if (fault == MatrixFault::kRowBeyond && threadIdx.x == 3) row = tile + 64;
  if (fault == MatrixFault::kMissingLanes && threadIdx.x >= 16) return;
  load_matrix_x1(fragment, row);
  out[threadIdx.x] = fragment[0];
}

__global__ void load_in_branches(unsigned* out) {
  KERNEL_SHARED_ALIGNED(16, unsigned short, tile, [64]);
  tile[threadIdx.x] = 0;
  tile[threadIdx.x + 32] = 0;
  __syncwarp();
  unsigned fragment[1];
  if (threadIdx.x < 16) {
    load_matrix_x1(fragment, tile + threadIdx.x % 8 * 8);
  } else {
    load_matrix_x1(fragment, tile);
  }
  out[threadIdx.x] = fragment[0];
}

__global__ void multiply_in_branches(float* out) {
  float sum[4] = {};
  const unsigned a[4] = {};
  const unsigned b[2] = {};
  if (threadIdx.x < 16) {
    multiply_accumulate_m16n8k16<__half>(sum, a, b);
  } else {
    multiply_accumulate_m16n8k16<__half>(sum, a, b);
  }
  out[threadIdx.x] = sum[0];
}
