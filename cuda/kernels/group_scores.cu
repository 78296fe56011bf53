#include "cuda/kernels/group_scores.cuh"

#include <kernel_dialect.h>

#include <cstdint>
#include <string>

#include "cuda/kernels/dispatch.cuh"
#include "cuda/kernels/reference_decode.h"

namespace recto::kernels {
Status check_served(const GroupScoresParams& params) {
  const RowsView& q = params.q;
  const KvTensorView& k = params.k;
  if (q.type != ElementType::kFp16 && q.type != ElementType::kBf16) {
    return refusal("q.type", "fp16 or bf16", element_type_name(q.type));
  }
  RECTO_RETURN_IF_ERROR(expect_same_type({"k", k.type}, {"q", q.type}));
  if (k.layout == KvLayout::kPacked) {
    return refusal("k.layout", "token-major or head-major", "packed");
  }
  if (k.head_dim % kStepDims != 0 || k.head_dim > kHeadDimMax) {
    return refusal("k.head_dim", "a multiple of 16, at most 256", std::to_string(k.head_dim));
  }
  RECTO_RETURN_IF_ERROR(
      expect_at_most({"q", "num_heads", q.num_heads}, kGroupMax * k.num_kv_heads));
  RECTO_RETURN_IF_ERROR(expect_at_chunk("q", q.data));
  RECTO_RETURN_IF_ERROR(expect_chunks({"q", "row_stride", q.row_stride}, q.type));
  RECTO_RETURN_IF_ERROR(expect_chunks({"q", "head_stride", q.head_stride}, q.type));
  RECTO_RETURN_IF_ERROR(expect_at_chunk("k", k.data));
  RECTO_RETURN_IF_ERROR(expect_chunks({"k", "block_stride", k.block_stride}, k.type));
  RECTO_RETURN_IF_ERROR(expect_chunks({"k", "head_stride", k.head_stride}, k.type));
  return expect_chunks({"k", "slot_stride", k.slot_stride}, k.type);
}

Status launch_group_scores(const GroupScoresParams& params, KernelStream stream) {
  RECTO_RETURN_IF_ERROR(check_served(params));
  if (params.q.num_rows == 0) return Status::ok();
  const auto head_dim = static_cast<int>(params.k.head_dim);
  const KernelLaunch how = {
      .grid = grid_of(params.q.num_rows, params.k.num_kv_heads),
      .block = dim3(kScoreThreads),
      .dynamic_shared_bytes = score_shared_elements(head_dim) * sizeof(std::uint16_t),
      .stream = stream};
  const auto kernel =
      params.q.type == ElementType::kFp16 ? &group_scores<__half> : &group_scores<__nv_bfloat16>;
  return launch_served("group_scores", how, kernel, params);
}

}  // namespace recto::kernels
