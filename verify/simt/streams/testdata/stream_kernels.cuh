#pragma once

// Kernels for tests of the accesses of operations. One thread for each element.

#include <kernel_dialect.h>

__global__ void add(const float* in, float* out, float value);
// Writes every second element, from `first` on.
__global__ void write_alternate(float* out, int first);
__global__ void count_up(int* count);
__global__ void read_count(const int* count, int* out);
// Copies asynchronously through shared memory; a multiple of 4 threads, up to 32.
__global__ void copy_in_background(const float* in, float* out);
