#pragma once

// Rotary position embedding (Su et al. 2021, arXiv 2104.09864), in fp64: the first rotary_dim dims
// of a head are rotated in pairs by position * base^(-2 p / rotary_dim), where p is the pair's
// index.

#include <cstdint>

#include "reference/dense_attention.h"

namespace recto::reference {

// Which dims form a pair: p and p + rotary_dim / 2 (GPT-NeoX, Llama in Hugging Face), or 2 p and 2
// p + 1 (GPT-J, `interleaved` in FlashAttention).
enum class RotaryPairing { kHalves, kInterleaved };

struct RotaryOptions {
  RotaryPairing pairing = RotaryPairing::kHalves;
  std::int64_t rotary_dim = 0;  // even, at most head_dim; the rest is left as it is
  double base = 10000.0;
};

// Rotates `rows` [count, head_dim]; row r is at position first_position + r.
Matrix rotate(const Matrix& rows, std::int64_t first_position, const RotaryOptions& options);

// Per-element bound [count, head_dim] on the distance between a kernel's result and rotate(). The
// kernel reads `rows` exactly, computes in fp32 from cos and sin tables of fp32 entries (each off
// by at most `table_error`), fused or not, and rounds the result once to its type. Valid if nothing
// overflows. docs/numerics.md derives the bound.
struct RotaryNumerics {
  double table_error = 0.0;       // absolute, of cos and sin
  double output_roundoff = 0.0;   // relative; 0 for fp32, whose last operation is already counted
  double output_underflow = 0.0;  // absolute
  double underflow = 0x1p-149;    // absolute, of one fp32 operation; 2^-126 if they flush to zero
};
Matrix rotary_bound(const Matrix& rows, std::int64_t first_position, const RotaryOptions& options,
                    const RotaryNumerics& numerics);

}  // namespace recto::reference
