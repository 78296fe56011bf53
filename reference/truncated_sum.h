#pragma once

// One step of a tensor core: the exact products and the accumulator are aligned to the largest of
// them, truncated to 24 bits and added, and the result is truncated to fp32 (Fasi et al. 2021,
// PeerJ Computer Science 7:e330; newer cards keep a few bits more).

#include <span>

namespace recto::reference {

// `products` must be exact, as products of two 16-bit numbers are.
float truncated_sum(float accumulator, std::span<const double> products);

}  // namespace recto::reference
