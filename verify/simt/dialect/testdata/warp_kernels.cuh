#pragma once

// Kernels for tests of warp-wide operations. Lanes outside `mask` take no part. Inputs and outputs
// are [threads of the block].

#include <kernel_dialect.h>

enum class Shuffle { kIndex, kUp, kDown, kXor };
struct ShuffleShape {
  Shuffle how;
  unsigned mask;
  int width;
};

// `argument` is each thread's source lane, delta or lane mask. T: int, float, double, long long,
// unsigned long, __half, __half2.
template <typename T>
__global__ void shuffle_values(ShuffleShape shape, const int* argument, const T* values, T* out);

struct Votes {
  unsigned ballot;
  int any;
  int all;
  unsigned active;
};
__global__ void vote_on(unsigned mask, const int* predicate, Votes* out);

// T: unsigned, float, long long, double.
template <typename T>
__global__ void match_values(unsigned mask, const T* values, unsigned* out);

struct Reductions {
  unsigned add, min, max, all_bits, any_bits, odd_bits;
  int signed_add, signed_min, signed_max;
};
__global__ void reduce_values(unsigned mask, const unsigned* values, Reductions* out);
