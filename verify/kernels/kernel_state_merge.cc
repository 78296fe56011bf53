#include "verify/kernels/kernel_state_merge.h"

#include <cstdint>

#include "core/contract.h"
#include "cuda/kernels/softmax_state.cuh"

namespace recto::verify {
namespace {

// The state of a thread that holds one dim.
kernels::SoftmaxState<1> state_of_dim(const reference::SoftmaxState& state, std::int64_t dim) {
  return {static_cast<float>(state.maximum),
          static_cast<float>(state.sum),
          {static_cast<float>(state.weighted[dim])}};
}

}  // namespace

reference::SoftmaxState merge_as_kernels_do(const reference::SoftmaxState& a,
                                            const reference::SoftmaxState& b) {
  RECTO_CHECK_EQ(a.weighted.size(), b.weighted.size());
  reference::SoftmaxState whole = a;
  for (std::int64_t dim = 0; dim < whole.weighted.size(); ++dim) {
    const kernels::SoftmaxState<1> merged =
        kernels::merge(state_of_dim(a, dim), state_of_dim(b, dim));
    whole.maximum = merged.maximum;
    whole.sum = merged.sum;
    whole.weighted[dim] = merged.weighted[0];
  }
  return whole;
}

}  // namespace recto::verify
