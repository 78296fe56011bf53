#include "cuda/kernels/group_decode.cuh"

#include <kernel_dialect.h>

#include "cuda/kernels/dispatch.cuh"
#include "cuda/kernels/scalar_products.cuh"
#include "cuda/kernels/tensor_core_products.cuh"

namespace recto::kernels {
namespace {

template <typename Shape>
KernelStatus launch(const SplitDecodeParams& params, KernelStream stream) {
  const PagedDecodeParams& decode = params.decode;
  const std::int64_t group = decode.q.num_heads / decode.kv.k.num_kv_heads;
  const std::int64_t tiles = (group + kTileRows - 1) / kTileRows;
  const KernelLaunch how = {
      .grid = grid_of(decode.q.num_rows, decode.kv.k.num_kv_heads * tiles, params.num_splits),
      .block = dim3(kDecodeThreads),
      .dynamic_shared_bytes = Shape::kSharedBytes,
      .stream = stream};
  return launch_kernel("group_decode", how, &group_decode<Shape>, params);
}

template <typename Products, typename Stored>
KernelStatus launch_for(const SplitDecodeParams& params, KernelStream stream) {
  switch (params.decode.kv.k.head_dim) {
    case 64:
      return launch<GroupShape<Products, Stored, 64>>(params, stream);
    case 128:
      return launch<GroupShape<Products, Stored, 128>>(params, stream);
    default:
      return {"kv.k.head_dim: expected 64 or 128"};
  }
}

bool is_aligned(const KvTensorView& tensor) {
  const std::int64_t chunk = kChunkBytes / element_bytes(tensor.type);
  const bool is_packed = tensor.layout == KvLayout::kPacked;
  const std::int64_t strides = tensor.block_stride | tensor.head_stride |
                               (is_packed ? 0 : tensor.slot_stride) |
                               (is_packed && tensor.pack_width > 1 ? tensor.pack_stride : 0);
  return reinterpret_cast<std::uintptr_t>(tensor.data) % kChunkBytes == 0 && strides % chunk == 0;
}

}  // namespace

const char* why_not_group_served(const SplitDecodeParams& params) {
  const KvTensorView& k = params.decode.kv.k;
  const KvTensorView& v = params.decode.kv.v;
  if (k.head_dim != v.head_dim) return "kv.v.head_dim: expected that of k";
  if (k.head_dim != 64 && k.head_dim != 128) return "kv.k.head_dim: expected 64 or 128";
  if (!is_aligned(k) || !is_aligned(v)) {
    return "kv: expected data and strides to be multiples of 16 bytes";
  }
  return nullptr;
}

KernelStatus launch_group_decode(const SplitDecodeParams& params, KernelStream stream) {
  switch (params.decode.q.type) {
    case ElementType::kFp32:
      return launch_for<ScalarProducts, float>(params, stream);
    case ElementType::kFp16:
      return launch_for<TensorCoreProducts<__half>, __half>(params, stream);
    case ElementType::kBf16:
      return launch_for<TensorCoreProducts<__nv_bfloat16>, __nv_bfloat16>(params, stream);
    default:
      return {"q.type"};
  }
}

}  // namespace recto::kernels
