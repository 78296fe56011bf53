#pragma once

// The arithmetic of results that CUDA leaves open: those of fast functions and of tensor cores.

#include <cstdint>

namespace recto::simt {

enum class FastMath : std::uint8_t {
  kAccurate,   // correctly rounded, as far as fp64 arithmetic can decide
  kPerturbed,  // off by up to the error that CUDA documents, by a hash of the arguments and the
               // seed
  kLibraryPerturbed,  // the same, but what is hardly more than an instruction (exp2f) is accurate
};

enum class MatrixSum : std::uint8_t {
  // A chain of fp32 fused multiply-adds in the order of k, each rounded to nearest.
  kNearest,
  // As tensor cores do: the products of a step and the accumulator are aligned to the largest
  // exponent, truncated, and added; the sum is truncated to fp32.
  kTruncated,
};

struct Arithmetic {
  FastMath fast_math = FastMath::kAccurate;
  std::uint64_t fast_math_seed = 0;
  MatrixSum matrix_sum = MatrixSum::kNearest;
  // For truncated sums: how many products are added at once (4 on V100, 8 on A100, 16 on H100), and
  // how many bits are kept below fp32's last one (Fasi et al. 2021, PeerJ Computer Science 7:e330;
  // Khattak & Mikaitis 2025, arXiv 2512.07004).
  unsigned products_per_step = 16;
  unsigned extra_bits = 2;
};

}  // namespace recto::simt
