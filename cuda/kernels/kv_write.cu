#include "cuda/kernels/kv_write.cuh"

#include <kernel_dialect.h>

#include "cuda/kernels/dispatch.cuh"

namespace recto::kernels {
namespace {

template <typename Source, typename Target>
Status launch(const KvWriteParams& params, KernelStream stream) {
  const KernelLaunch how = {
      .grid = grid_of(params.k.num_rows), .block = dim3(kMoveThreads), .stream = stream};
  return with_access(
      [&](auto access) {
        using Access = typename decltype(access)::Type;
        return launch_served("kv_write", how, &kv_write<Access, Source, Target>, params);
      },
      params.k, params.v, params.kv.k, params.kv.v);
}

}  // namespace

Status check_write(const KvWriteParams& params) {
  if (params.repeated_slots != RepeatedSlots::kLaterStays &&
      params.repeated_slots != RepeatedSlots::kNone) {
    return refusal("repeated_slots", "one of RepeatedSlots",
                   std::to_string(static_cast<int>(params.repeated_slots)));
  }
  return check_write(params.k, params.v, params.kv);
}

Status launch_kv_write(const KvWriteParams& params, KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_write(params));
  if (params.k.num_rows == 0) return Status::ok();
  return with_written(params.k.type, params.kv.k.type, [&](auto source, auto target) {
    return launch<typename decltype(source)::Type, typename decltype(target)::Type>(params, stream);
  });
}

}  // namespace recto::kernels
