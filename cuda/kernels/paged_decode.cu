#include "cuda/kernels/paged_decode.cuh"

#include <kernel_dialect.h>

#include "cuda/kernels/dispatch.cuh"

namespace recto::kernels {

const char* why_not_served(const PagedDecodeParams& params) {
  const KvTensorView& k = params.kv.k;
  const KvTensorView& v = params.kv.v;
  const ElementType type = params.q.type;
  if (is_fp8(type)) return "q.type: expected fp32, fp16 or bf16";
  if (v.type != k.type) return "kv.v.type: expected that of kv.k";
  if (!are_attended(type, k.type)) {
    return "kv.k.type: expected q's, or e4m3 or e5m2 for q in fp16 or bf16";
  }
  if (params.out.type != type) return "out.type: expected q's";
  if (k.head_dim > kHeadDimMax || v.head_dim > kHeadDimMax) {
    return "kv.k.head_dim, kv.v.head_dim: expected at most 256";
  }
  return why_not_reached(params.kv);
}

KernelStatus launch_paged_decode(const PagedDecodeParams& params, KernelStream stream) {
  if (const char* error = why_not_served(params)) return {error};
  if (params.q.num_rows == 0) return {};
  const KernelLaunch how = {.grid = grid_of(params.q.num_rows, params.q.num_heads),
                            .block = dim3(kDecodeThreads),
                            .stream = stream};
  return with_attended(params.q.type, params.kv.k.type, [&](auto query, auto cached) {
    using Query = typename decltype(query)::Type;
    using Cached = typename decltype(cached)::Type;
    return with_access(
        [&](auto access) {
          using Access = typename decltype(access)::Type;
          return launch_kernel("paged_decode", how, &paged_decode<Access, Query, Cached>, params);
        },
        params.kv.k, params.kv.v);
  });
}

}  // namespace recto::kernels
