#include "cuda/kernels/reference_decode.cuh"

#include <kernel_dialect.h>

#include <string>

#include "cuda/kernels/dispatch.cuh"

namespace recto::kernels {

Status check_served(const ReferenceDecodeParams& params) {
  const KvTensorView& k = params.kv.k;
  const KvTensorView& v = params.kv.v;
  const ElementType type = params.q.type;
  RECTO_RETURN_IF_ERROR(expect_number({"q", type}));
  RECTO_RETURN_IF_ERROR(expect_same_type({"kv.v", v.type}, {"kv.k", k.type}));
  if (!are_attended(type, k.type)) {
    const char* or_codes = type == ElementType::kFp32 ? "" : ", e4m3 or e5m2";
    return refusal("kv.k.type", element_type_name(type) + std::string(" as in q.type") + or_codes,
                   element_type_name(k.type));
  }
  RECTO_RETURN_IF_ERROR(expect_same_type({"out", params.out.type}, {"q", type}));
  RECTO_RETURN_IF_ERROR(expect_at_most({"kv.k", "head_dim", k.head_dim}, kHeadDimMax));
  RECTO_RETURN_IF_ERROR(expect_at_most({"kv.v", "head_dim", v.head_dim}, kHeadDimMax));
  return check_reached(params.kv);
}

Status launch_reference_decode(const ReferenceDecodeParams& params, KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_served(params));
  if (params.q.num_rows == 0) return Status::ok();
  const KernelLaunch how = {.grid = grid_of(params.q.num_rows, params.q.num_heads),
                            .block = dim3(kDecodeThreads),
                            .stream = stream};
  return with_attended(params.q.type, params.kv.k.type, [&](auto query, auto cached) {
    using Query = typename decltype(query)::Type;
    using Cached = typename decltype(cached)::Type;
    return with_access(
        [&](auto access) {
          using Access = typename decltype(access)::Type;
          return launch_served("reference_decode", how, &reference_decode<Access, Query, Cached>,
                               params);
        },
        params.kv.k, params.kv.v);
  });
}

}  // namespace recto::kernels
