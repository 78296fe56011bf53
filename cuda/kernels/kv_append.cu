#include "cuda/kernels/kv_append.cuh"

#include <kernel_dialect.h>

#include <string>
#include <utility>

#include "cuda/kernels/dispatch.cuh"

namespace recto::kernels {
namespace {

Status check_rotary(const Rotary& rotary, std::int64_t head_dim) {
  if (rotary.dim < 0 || rotary.dim % 2 != 0 || rotary.dim > head_dim) {
    return refusal("rotary.dim",
                   "an even number, at most kv.k.head_dim = " + std::to_string(head_dim),
                   std::to_string(rotary.dim));
  }
  if (rotary.dim == 0) return Status::ok();
  if (rotary.pairing != RotaryPairing::kHalves && rotary.pairing != RotaryPairing::kInterleaved) {
    return refusal("rotary.pairing", "one of RotaryPairing",
                   std::to_string(static_cast<int>(rotary.pairing)));
  }
  const RowsView& cosines = rotary.cosines;
  const RowsView& sines = rotary.sines;
  for (const auto& [name, table] :
       {std::pair("rotary.cosines", &cosines), {"rotary.sines", &sines}}) {
    if (table->data == nullptr) {
      return refusal(std::string(name) + ".data", "a table with rotary.dim above 0", "null");
    }
    RECTO_RETURN_IF_ERROR(expect_at_least({name, "num_rows", table->num_rows}, 1));
    if (table->num_heads != 1) {
      return refusal(std::string(name) + ".num_heads", "1", std::to_string(table->num_heads));
    }
    if (table->head_dim == rotary.dim / 2) continue;
    return refusal(std::string(name) + ".head_dim",
                   "rotary.dim / 2 = " + std::to_string(rotary.dim / 2),
                   std::to_string(table->head_dim));
  }
  RECTO_RETURN_IF_ERROR(expect_number({"rotary.cosines", cosines.type}));
  RECTO_RETURN_IF_ERROR(expect_number({"rotary.sines", sines.type}));
  RECTO_RETURN_IF_ERROR(
      expect_same_type({"rotary.sines", sines.type}, {"rotary.cosines", cosines.type}));
  return expect_equal(NamedSize("rotary.sines", "num_rows", sines.num_rows),
                      NamedSize("rotary.cosines", "num_rows", cosines.num_rows));
}

}  // namespace

Status check_append(const KvAppendParams& params) {
  RECTO_RETURN_IF_ERROR(check_write(params.k, params.v, params.kv));
  if (params.q.data != nullptr) {
    RECTO_RETURN_IF_ERROR(expect_same_type({"q", params.q.type}, {"k", params.k.type}));
    RECTO_RETURN_IF_ERROR(
        expect_same_type({"rotated_q", params.rotated_q.type}, {"k", params.k.type}));
  }
  return check_rotary(params.rotary, params.kv.k.head_dim);
}

Status launch_kv_append(const KvAppendParams& params, KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_append(params));
  if (params.k.num_rows == 0) return Status::ok();
  const KernelLaunch how = {
      .grid = grid_of(params.k.num_rows), .block = dim3(kMoveThreads), .stream = stream};
  return with_written(params.k.type, params.kv.k.type, [&](auto source, auto cached) {
    using Source = typename decltype(source)::Type;
    using Cached = typename decltype(cached)::Type;
    return launch_served("kv_append", how, &kv_append<Source, Cached>, params);
  });
}

}  // namespace recto::kernels
