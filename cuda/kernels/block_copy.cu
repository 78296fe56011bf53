#include "cuda/kernels/block_copy.cuh"

#include <kernel_dialect.h>

#include "cuda/kernels/dispatch.cuh"

namespace recto::kernels {

KernelStatus launch_block_copy(const BlockCopyParams& params, KernelStream stream) {
  if (const char* error = why_not_reached(params.kv)) return {error};
  if (params.num_pairs == 0) return {};
  const KernelLaunch how = {.grid = grid_of(params.num_pairs, params.kv.k.num_kv_heads),
                            .block = dim3(kMoveThreads),
                            .stream = stream};
  return with_element_of_size(element_bytes(params.kv.k.type), [&](auto code) {
    using Code = typename decltype(code)::Type;
    return with_access(
        [&](auto access) {
          using Access = typename decltype(access)::Type;
          return launch_kernel("block_copy", how, &block_copy<Access, Code>, params);
        },
        params.kv.k, params.kv.v);
  });
}

}  // namespace recto::kernels
