#pragma once

// What the card at hand does in a second, measured once in a run: what kernels are held against.

#include <string>

#include "core/status.h"

namespace recto::bench {

struct CardRates {
  double copied_bytes = 0;   // read and written, by the runtime's copy of one GiB within the device
  double to_host_bytes = 0;  // by the runtime's copy into pinned memory
  double from_host_bytes = 0;  // and back
  double mma_flops = 0;        // products and sums of mma.sync in bf16, from registers
  double blas_flops = 0;       // of a product of two matrices in bf16 by cuBLAS; 0 without it
  std::string blas;            // its name, or why there is none

  // What products are held against: the larger one, as no card is slower than what it was seen to
  // do. A product by mma.sync, as our kernels make them, is at most as fast as it is from
  // registers.
  double matrix_flops() const { return blas_flops > mma_flops ? blas_flops : mma_flops; }
  std::string matrix_rate_by() const;
};

// The best of several runs each.
Result<CardRates> card_rates();

}  // namespace recto::bench
