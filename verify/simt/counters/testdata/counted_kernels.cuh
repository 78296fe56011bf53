#pragma once

// Kernels whose counts are known by hand.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

namespace recto::simt {

// Thread i reads in[i * stride] and writes out[i].
__global__ void copy_strided(const float* in, float* out, int stride);
__global__ void copy_fours(const float* in, float* out);
__global__ void read_one(const float* in, float* out);
// Thread i writes element stride * i of shared memory, and reads it.
__global__ void pass_strided(float* out, int stride);
// Lane i reads a vector of two, or of four, from float (i % 8) * `stride` + (i / 8) * `shift` of
// shared memory on.
__global__ void read_shared_twos(float* out, int stride, int shift);
__global__ void read_shared_fours(float* out, int stride, int shift);
__global__ void load_rows(unsigned* out, int stride, int shift);
__global__ void read_twice_in_odd_lanes(const float* in, float* out);
__global__ void count_operations(float* out, int rounds);
__global__ void add_in_pairs(float* sums);

// Two kernels with two lines of accesses each, and one with warp-wide instructions of four kinds,
// from these lines on.
extern const int kLineOfCopyTwice;
__global__ void copy_twice(const float* in, float* out);
extern const int kLineOfReadApart;
__global__ void read_apart(const float* in, float* out);
extern const int kLineOfVotes;
__global__ void vote_and_multiply(unsigned* out);

}  // namespace recto::simt
