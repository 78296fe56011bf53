#include "cuda/kernels/kv_append.cuh"

#include <kernel_dialect.h>

#include "cuda/kernels/dispatch.cuh"

namespace recto::kernels {
namespace {

const char* why_not_served(const Rotary& rotary, std::int64_t head_dim) {
  if (rotary.dim < 0 || rotary.dim % 2 != 0 || rotary.dim > head_dim) {
    return "rotary.dim: expected an even number, at most kv.k.head_dim";
  }
  if (rotary.dim == 0) return nullptr;
  const RowsView& cosines = rotary.cosines;
  const RowsView& sines = rotary.sines;
  if (cosines.data == nullptr || sines.data == nullptr) {
    return "rotary.cosines, rotary.sines: expected tables with rotary.dim above 0, got null";
  }
  if (is_fp8(cosines.type) || sines.type != cosines.type) {
    return "rotary.cosines.type, rotary.sines.type: expected the same, fp32, fp16 or bf16";
  }
  if (cosines.head_dim != rotary.dim / 2 || sines.head_dim != rotary.dim / 2) {
    return "rotary.cosines.head_dim, rotary.sines.head_dim: expected rotary.dim / 2";
  }
  if (sines.num_rows != cosines.num_rows) {
    return "rotary.sines.num_rows: expected that of rotary.cosines";
  }
  return nullptr;
}

}  // namespace

const char* why_not_appended(const KvAppendParams& params) {
  if (const char* error = why_not_written(params.k, params.v, params.kv)) return error;
  if (params.q.data != nullptr && params.q.type != params.k.type) return "q.type: expected k's";
  if (params.q.data != nullptr && params.rotated_q.type != params.k.type) {
    return "rotated_q.type: expected k's";
  }
  return why_not_served(params.rotary, params.kv.k.head_dim);
}
KernelStatus launch_kv_append(const KvAppendParams& params, KernelStream stream) {
  if (const char* error = why_not_appended(params)) return {error};
  if (params.k.num_rows == 0) return {};
  const KernelLaunch how = {
      .grid = grid_of(params.k.num_rows), .block = dim3(kMoveThreads), .stream = stream};
  return with_written(params.k.type, params.kv.k.type, [&](auto source, auto cached) {
    using Source = typename decltype(source)::Type;
    using Cached = typename decltype(cached)::Type;
    return launch_kernel("kv_append", how, &kv_append<Source, Cached>, params);
  });
}

}  // namespace recto::kernels
