#include "cuda/kernels/kv_write.cuh"

#include <kernel_dialect.h>

#include "cuda/kernels/dispatch.cuh"

namespace recto::kernels {
namespace {

const char* why_not_served(const KvWriteParams& params) {
  const ElementType source = params.k.type;
  const ElementType target = params.kv.k.type;
  if (is_fp8(source) || params.v.type != source) {
    return "k.type, v.type: expected the same, fp32, fp16 or bf16";
  }
  if (is_fp8(target) || params.kv.v.type != target) {
    return "kv.k.type, kv.v.type: expected the same, fp32, fp16 or bf16";
  }
  if (source != target && source != ElementType::kFp32) {
    return "kv.k.type: expected that of the rows, which are not fp32";
  }
  return why_not_reached(params.kv);
}

template <typename Source, typename Target>
KernelStatus launch(const KvWriteParams& params, KernelStream stream) {
  const KernelLaunch how = {
      .grid = grid_of(params.k.num_rows), .block = dim3(kMoveThreads), .stream = stream};
  return with_access(
      [&](auto access) {
        using Access = typename decltype(access)::Type;
        return launch_kernel("kv_write", how, &kv_write<Access, Source, Target>, params);
      },
      params.k, params.v, params.kv.k, params.kv.v);
}

}  // namespace

KernelStatus launch_kv_write(const KvWriteParams& params, KernelStream stream) {
  if (const char* error = why_not_served(params)) return {error};
  if (params.k.num_rows == 0) return {};
  return with_element(params.kv.k.type, [&](auto target) {
    using Target = typename decltype(target)::Type;
    if (params.k.type == params.kv.k.type) return launch<Target, Target>(params, stream);
    return launch<float, Target>(params, stream);
  });
}

}  // namespace recto::kernels
