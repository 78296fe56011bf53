#pragma once

// The time that attention kernels take in a configuration, if it was measured.

#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// Sets `metrics`' kernel_s: seconds of attention, all layers, in a decode step that reads as many
// tokens as the pool holds; and kernel_basis: how that follows from the measured cases of this
// block size, in a word. Both null unless the time model is measured:GPU. Fails if that card's
// file, or the block size in it, is missing.
Status add_kernel_time(const RunConfig& config, Json& metrics);

}  // namespace recto::experiments
