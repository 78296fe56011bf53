#include "verify/simt/dialect/testdata/math_kernels.cuh"

#include <kernel_ptx.h>

__global__ void evaluate_functions(const float* x, const float* y, int count, float* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  const float a = x[i];
  const float b = y[i];
  const float results[kEvaluatedFunctions] = {
      expf(a),          exp2f(a),  exp10f(a),    expm1f(a),   logf(a),      log2f(a),
      log10f(a),        log1pf(a), sinf(a),      cosf(a),     tanf(a),      tanhf(a),
      erff(a),          rsqrtf(a), __expf(a),    __exp10f(a), __logf(a),    __log2f(a),
      __log10f(a),      __sinf(a), __cosf(a),    __tanhf(a),  __powf(a, b), powf(a, b),
      __fdividef(a, b), __tanf(a), fast_exp2(a), fast_tanh(a)};
  for (int f = 0; f < kEvaluatedFunctions; ++f) out[i * kEvaluatedFunctions + f] = results[f];
}
