#pragma once

// An implementation of your own, as a backend: attention in two passes over the keys, in fp32.

#include "verify/backend.h"

namespace recto::verify {

// Supports fp32 and layouts whose dims are contiguous, causal or not, with a window or without.
// O(rows * context * head_dim), one exponential for each row, head and key.
Backend two_pass_backend();

}  // namespace recto::verify
