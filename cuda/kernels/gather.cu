#include "cuda/kernels/gather.cuh"

#include <kernel_dialect.h>

#include "cuda/kernels/dispatch.cuh"

namespace recto::kernels {

static_assert(kGatheredMax == kGatherTokens * std::int64_t{65535});

Status check_gather(const GatherParams& params) {
  const ElementType type = params.kv.k.type;
  RECTO_RETURN_IF_ERROR(check_reached(params.kv));
  RECTO_RETURN_IF_ERROR(expect_same_type({"k", params.k.type}, {"kv.k", type}));
  RECTO_RETURN_IF_ERROR(expect_same_type({"v", params.v.type}, {"kv.k", type}));
  const NamedSize longest("", "max_context_length", params.max_context_length);
  RECTO_RETURN_IF_ERROR(expect_at_least(longest, 0));
  RECTO_RETURN_IF_ERROR(expect_at_most(longest, kGatheredMax));
  return expect_at_most({"kv.k", "num_kv_heads", params.kv.k.num_kv_heads}, 65535);
}

Status launch_gather(const GatherParams& params, KernelStream stream) {
  const ElementType type = params.kv.k.type;
  RECTO_RETURN_IF_ERROR(check_gather(params));
  const std::int64_t tiles = (params.max_context_length + kGatherTokens - 1) / kGatherTokens;
  if (params.block_table.num_seqs == 0 || tiles == 0) return Status::ok();
  const std::int64_t num_seqs = params.block_table.num_seqs;
  const KernelLaunch how = {.grid = grid_of(num_seqs, tiles, params.kv.k.num_kv_heads),
                            .block = dim3(kMoveThreads),
                            .stream = stream};
  return with_element_of_size(element_bytes(type), [&](auto code) {
    using Code = typename decltype(code)::Type;
    return with_access(
        [&](auto access) {
          using Access = typename decltype(access)::Type;
          return launch_served("gather", how, &gather<Access, Code>, params);
        },
        params.kv.k, params.kv.v, params.k, params.v);
  });
}

}  // namespace recto::kernels
