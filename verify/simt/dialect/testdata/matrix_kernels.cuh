#pragma once

// Kernels for tests of matrix operations. Each is one warp.

#include <kernel_dialect.h>

enum class MatrixShape { kM16n8k16, kM16n8k8 };

// Loads kMatrices of 8 x 8 elements by ldmatrix; out[lane * 4 + i] is what lane has in fragment[i].
__global__ void load_plain(const unsigned short* matrices /* [count, 8, 8] */, int count,
                           unsigned* out /* [32, 4] */);
__global__ void load_transposed(const unsigned short* matrices, int count, unsigned* out);

// sum += a b with fragments as given, lane by lane.
__global__ void multiply_half(MatrixShape shape, const unsigned* a /* [32, 4] */,
                              const unsigned* b /* [32, 2] */, float* sum /* [32, 4] */);
__global__ void multiply_bfloat16(MatrixShape shape, const unsigned* a, const unsigned* b,
                                  float* sum);

// A product of whole matrices in shared memory: a by ldmatrix, b, whose rows are consecutive in
// memory, by ldmatrix transposed.
__global__ void multiply_matrices(const __half* a /* [16, 16] */, const __half* b /* [16, 8] */,
                                  float* product /* [16, 8] */);

// Faults: a row at 8 bytes, a row in global memory, a row beyond its variable, half a warp.
enum class MatrixFault { kMisalignedRow, kGlobalRow, kRowBeyond, kMissingLanes };
__global__ void load_wrongly(MatrixFault fault, unsigned* out);
// The halves of a warp call the same operation in two branches: ldmatrix, or mma.
__global__ void load_in_branches(unsigned* out);
__global__ void multiply_in_branches(float* out);
