#pragma once

// The kernels' own merge of partial states (cuda/kernels/softmax_state.cuh), called from the host.

#include "reference/online_softmax.h"

namespace recto::verify {

// Both states have the same number of dims, and are exact in fp32.
reference::SoftmaxState merge_as_kernels_do(const reference::SoftmaxState& a,
                                            const reference::SoftmaxState& b);

}  // namespace recto::verify
