#pragma once

// What the card at hand does in a second, measured once in a run: what kernels are held against.

#include "core/status.h"

namespace recto::bench {

struct CardRates {
  double copied_bytes = 0;   // read and written, by the runtime's copy of one GiB within the device
  double mma_flops = 0;      // products and sums of mma.sync in bf16, from registers
  double to_host_bytes = 0;  // by the runtime's copy into pinned memory
  double from_host_bytes = 0;  // and back
};

// The best of several runs each.
Result<CardRates> card_rates();

}  // namespace recto::bench
