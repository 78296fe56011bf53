#pragma once

// Rates of the card, measured once per run: kernel results are reported as fractions of them.

#include <string>

#include "core/status.h"

namespace recto::bench {

struct CardRates {
  double copied_bytes = 0;     // read and written, by the runtime's copy of 1 GiB within the device
  double to_host_bytes = 0;    // by the runtime's copy into pinned memory
  double from_host_bytes = 0;  // and back
  double mma_flops = 0;        // products and sums of mma.sync in bf16, from registers
  double blas_flops = 0;       // products of two bf16 matrices by cuBLAS; 0 without it
  std::string blas;            // its name, or why it is missing

  // The rate that products are compared with: the larger one, because the card has reached it. Our
  // kernels' products use mma.sync, so they are at most as fast as mma.sync from registers.
  double matrix_flops() const { return blas_flops > mma_flops ? blas_flops : mma_flops; }
  std::string matrix_rate_by() const;
};

// The best of several runs for each rate.
Result<CardRates> card_rates();

}  // namespace recto::bench
