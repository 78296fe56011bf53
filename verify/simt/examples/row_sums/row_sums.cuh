#pragma once

#include <kernel_dialect.h>

inline constexpr int kRowThreads = 128;

// out[row] is the sum of the first `length` of a row's `pitch` numbers. One thread block of
// kRowThreads for each row.
__global__ void row_sums(const float* in /* [rows, pitch] */, int length, int pitch,
                         float* out /* [rows] */);
