#include "cuda/kernels/split_decode.cuh"

#include <kernel_dialect.h>

#include <algorithm>

#include "cuda/kernels/dispatch.cuh"

namespace recto::kernels {
namespace {

const char* why_not_served(const SplitDecodeParams& params) {
  if (params.split_size < 1) return "split_size: expected at least 1";
  if (params.num_splits < 1) return "num_splits: expected at least 1";
  return why_not_served(params.decode);
}

}  // namespace

std::int64_t num_splits(std::int64_t max_context_length, std::int64_t split_size) {
  return 1 + (std::max<std::int64_t>(1, max_context_length) - 1) / split_size;
}

KernelStatus launch_split_decode(const SplitDecodeParams& params, KernelStream stream) {
  if (const char* error = why_not_served(params)) return {error};
  const PagedDecodeParams& decode = params.decode;
  if (decode.q.num_rows == 0) return {};
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
          return launch_kernel("split_decode", how, &split_decode<Access, Query, Cached>, params);
        },
        decode.kv.k, decode.kv.v);
  });
}

KernelStatus launch_split_merge(const SplitDecodeParams& params, KernelStream stream) {
  if (const char* error = why_not_served(params)) return {error};
  const PagedDecodeParams& decode = params.decode;
  if (decode.q.num_rows == 0) return {};
  const KernelLaunch how = {.grid = grid_of(decode.q.num_rows, decode.q.num_heads),
                            .block = dim3(kDecodeThreads),
                            .stream = stream};
  return with_element(decode.q.type, [&](auto element) {
    using Element = typename decltype(element)::Type;
    return launch_kernel("split_merge", how, &split_merge<Element>, params);
  });
}

}  // namespace recto::kernels
