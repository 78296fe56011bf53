#pragma once

// Example of your own implementation as a backend: attention in two passes over the keys, in fp32.

#include "verify/backend.h"

namespace recto::verify {

// Supports fp32, layouts with contiguous dims, causal or not, with or without a window. O(rows *
// context * head_dim), one exponential per row, head and key.
Backend two_pass_backend();

}  // namespace recto::verify
