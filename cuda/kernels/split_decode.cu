#include "cuda/kernels/split_decode.cuh"

#include <kernel_dialect.h>

#include <algorithm>

#include "cuda/kernels/dispatch.cuh"
#include "cuda/kernels/split_merge.cuh"

namespace recto::kernels {
namespace {

Status check_served(const SplitDecodeParams& params) {
  RECTO_RETURN_IF_ERROR(check_splits(params));
  return check_served(params.decode);
}

}  // namespace

std::int64_t num_splits(std::int64_t max_context_length, std::int64_t split_size) {
  return 1 + (std::max<std::int64_t>(1, max_context_length) - 1) / split_size;
}

// Context lengths are int, so no split is larger.
Status check_splits(const SplitDecodeParams& params) {
  RECTO_RETURN_IF_ERROR(expect_at_least({"", "split_size", params.split_size}, 1));
  RECTO_RETURN_IF_ERROR(expect_at_most({"", "split_size", params.split_size}, INT32_MAX));
  return expect_at_least({"", "num_splits", params.num_splits}, 1);
}

Status launch_split_decode(const SplitDecodeParams& params, KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_served(params));
  const ReferenceDecodeParams& decode = params.decode;
  if (decode.q.num_rows == 0) return Status::ok();
  const KernelLaunch how = {
      .grid = grid_of(decode.q.num_rows, decode.q.num_heads, params.num_splits),
      .block = dim3(kDecodeThreads),
      .stream = stream};
  return with_attended(decode.q.type, decode.kv.k.type, [&](auto query, auto cached) {
    using Query = typename decltype(query)::Type;
    using Cached = typename decltype(cached)::Type;
    return with_access(
        [&](auto access) {
          using Access = typename decltype(access)::Type;
          return launch_served("split_decode", how, &split_decode<Access, Query, Cached>, params);
        },
        decode.kv.k, decode.kv.v);
  });
}

Status launch_split_merge(const SplitDecodeParams& params, KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_served(params));
  const ReferenceDecodeParams& decode = params.decode;
  if (decode.q.num_rows == 0) return Status::ok();
  const KernelLaunch how = {.grid = grid_of(decode.q.num_rows, decode.q.num_heads),
                            .block = dim3(kWarpLanes),
                            .stream = stream,
                            .may_begin_early = true};
  return with_element(decode.q.type, [&](auto element) {
    using Element = typename decltype(element)::Type;
    const std::int64_t head_dim = decode.kv.v.head_dim;
    if (!lies_in_fours(params.states.weighted, sizeof(float), head_dim)) {
      return launch_served("split_merge", how, &split_merge<Element, Singles, 2>, params);
    }
    if (head_dim > SplitRow<Fours, 1>::kLaneStride) {
      return launch_served("split_merge", how, &split_merge<Element, Fours, 2>, params);
    }
    return launch_served("split_merge", how, &split_merge<Element, Fours, 1>, params);
  });
}

}  // namespace recto::kernels
