#include "cuda/kernels/group_scores.cuh"

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/dispatch.cuh"
#include "cuda/kernels/paged_decode.h"

namespace recto::kernels {
namespace {

// Whether all rows begin at a multiple of a unit. (The bits of all strides together are a multiple
// of a power of two where each of them is.)
bool has_unit_rows(const void* data, std::int64_t strides) {
  return reinterpret_cast<std::uintptr_t>(data) % kUnitBytes == 0 && strides % kUnitDims == 0;
}

}  // namespace

const char* why_not_served(const GroupScoresParams& params) {
  const RowsView& q = params.q;
  const KvTensorView& k = params.k;
  if (q.type != ElementType::kFp16 && q.type != ElementType::kBf16) {
    return "q.type: expected fp16 or bf16";
  }
  if (k.type != q.type) return "k.type: expected q's";
  if (k.layout == KvLayout::kPacked) return "k.layout: expected token-major or head-major";
  if (k.head_dim % kStepDims != 0 || k.head_dim > kHeadDimMax) {
    return "k.head_dim: expected a multiple of 16, at most 256";
  }
  if (q.num_heads > kGroupMax * k.num_kv_heads) {
    return "q.num_heads: expected at most 16 for each KV head";
  }
  if (!has_unit_rows(q.data, q.row_stride | q.head_stride)) {
    return "q: expected rows at multiples of 16 bytes";
  }
  if (!has_unit_rows(k.data, k.block_stride | k.head_stride | k.slot_stride)) {
    return "k: expected rows at multiples of 16 bytes";
  }
  return nullptr;
}

KernelStatus launch_group_scores(const GroupScoresParams& params, KernelStream stream) {
  if (const char* error = why_not_served(params)) return {error};
  if (params.q.num_rows == 0) return {};
  const auto head_dim = static_cast<int>(params.k.head_dim);
  const KernelLaunch how = {
      .grid = grid_of(params.q.num_rows, params.k.num_kv_heads),
      .block = dim3(kScoreThreads),
      .dynamic_shared_bytes = score_shared_elements(head_dim) * sizeof(std::uint16_t),
      .stream = stream};
  const auto kernel =
      params.q.type == ElementType::kFp16 ? &group_scores<__half> : &group_scores<__nv_bfloat16>;
  return launch_kernel("group_scores", how, kernel, params);
}

}  // namespace recto::kernels
