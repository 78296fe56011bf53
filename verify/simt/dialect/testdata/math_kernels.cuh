#pragma once

// Kernels for tests of functions.

#include <kernel_dialect.h>

// out[i] = function number i of x, in the order of documented_errors(); after these __powf(x, y),
// powf(x, y), __fdividef(x, y), __tanf(x), fast_exp2(x), fast_tanh(x).
inline constexpr int kTabulatedFunctions = 22;
inline constexpr int kEvaluatedFunctions = kTabulatedFunctions + 6;
__global__ void evaluate_functions(const float* x, const float* y, int count,
                                   float* out /* [count, kEvaluatedFunctions] */);
