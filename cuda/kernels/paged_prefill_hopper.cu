#include "cuda/kernels/paged_prefill_hopper.h"

#include <cuda.h>
#include <kernel_dialect.h>

#include <cstdint>
#include <numeric>
#include <string>

#include "cuda/kernels/dispatch.cuh"
#include "cuda/kernels/paged_prefill_entries.cuh"
#include "cuda/kernels/paged_prefill_hopper.cuh"

namespace recto::kernels {
namespace {

using EncodeTensorMap = decltype(&cuTensorMapEncodeTiled);

// The driver's function, or null. (Not linked, so that programs start without a driver.)
EncodeTensorMap find_encode() {
  constexpr unsigned kVersion = 12000;  // of CUDA, that has the function
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                             kVersion, cudaEnableDefault, &result);
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess && result == cudaDriverEntryPointSuccess
             ? reinterpret_cast<EncodeTensorMap>(function)
             : nullptr;
}

EncodeTensorMap encode_tensor_map() {
  static const EncodeTensorMap kFunction = find_encode();
  return kFunction;
}

// Makes the device's context current, as launches do. False if that fails.
bool make_context_current() {
  int device = 0;
  return cudaGetDevice(&device) == cudaSuccess && cudaSetDevice(device) == cudaSuccess;
}

constexpr std::int64_t kPartSlots = SwizzledTile<__half, 64>::kPartRows;
constexpr std::int64_t kPartDims = SwizzledTile<__half, 64>::kPartDims;
constexpr std::int64_t kRunKeysMax = 64;  // that a lane copies as one box

// Encodes the tensor that HopperPrefillParams describes.
Status encode(const KvTensorView& tensor, int run_keys, CUtensorMap& map) {
  const std::int64_t element = element_bytes(tensor.type);
  const std::int64_t dim_parts =
      ((tensor.num_kv_heads - 1) * tensor.head_stride + tensor.head_dim) / kPartDims;
  const auto size = [](std::int64_t count) { return static_cast<cuuint64_t>(count); };
  const cuuint64_t sizes[5] = {size(kPartDims), size(kPartSlots), size(dim_parts),
                               size(tensor.block_size / kPartSlots), size(tensor.num_blocks)};
  const cuuint64_t strides[4] = {size(tensor.slot_stride * element), size(kPartDims * element),
                                 size(kPartSlots * tensor.slot_stride * element),
                                 size(tensor.block_stride * element)};
  const auto part = [](std::int64_t count) { return static_cast<cuuint32_t>(count); };
  const cuuint32_t box[5] = {part(kPartDims), part(kPartSlots), part(tensor.head_dim / kPartDims),
                             part(run_keys / kPartSlots), 1};
  const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  const CUtensorMapDataType type = tensor.type == ElementType::kFp16
                                       ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                       : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const auto encoded = [&] {
    return encode_tensor_map()(&map, type, 5, const_cast<void*>(tensor.data), sizes, strides, box,
                               steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                               CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  CUresult result = encoded();
  // The driver needs a current context, and a thread may have none before its first launch.
  if (result == CUDA_ERROR_INVALID_CONTEXT && make_context_current()) result = encoded();
  if (result == CUDA_SUCCESS) return Status::ok();
  return Status::failed("cuTensorMapEncodeTiled: error " + std::to_string(result));
}

// Whether a tensor map can describe the cache: heads at multiples of a part's dims, counted in int,
// and strides below 2^40 bytes, those of eight slots too.
bool has_tensor_map(const KvTensorView& tensor) {
  constexpr std::int64_t kStrideMax = std::int64_t{1} << 38;  // elements of two bytes
  return tensor.num_blocks > 0 && tensor.head_stride % kPartDims == 0 && tensor.head_stride >= 0 &&
         tensor.slot_stride >= 0 && tensor.block_stride >= 0 &&
         tensor.head_stride / kPartDims <= INT32_MAX / tensor.num_kv_heads - 8 &&
         tensor.slot_stride <= kStrideMax / kPartSlots && tensor.block_stride <= kStrideMax;
}

template <typename Shape>
Status launch(const HopperPrefillParams& params, KernelStream stream) {
  static_assert(Shape::kRows == kWideRows);  // prefill_blocks_per_sequence() relies on it
  return launch_served(
      "paged_prefill_hopper",
      {.grid = grid_of(prefill_tiles(params.call, Shape::kRows), params.call.kv.k.num_kv_heads,
                       params.call.block_table.num_seqs),
       .block = dim3(Shape::kThreads),
       .dynamic_shared_bytes = sizeof(HopperMemory<Shape>),
       .stream = stream},
      &paged_prefill_hopper<Shape>, params);
}

template <typename Element>
Status launch_of_dim(const HopperPrefillParams& params, KernelStream stream) {
  return params.call.kv.k.head_dim == 64 ? launch<HopperShape<Element, 64>>(params, stream)
                                         : launch<HopperShape<Element, 128>>(params, stream);
}

}  // namespace

bool is_on_hopper() {
  int device = 0;
  int major = 0;
  const bool is_known =
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess;
  return is_known && major == 9;
}

bool serves_on_hopper(const PagedPrefillParams& params) {
  const KvTensorView& k = params.kv.k;
  const bool has_type = params.q.type == k.type && element_bytes(k.type) == 2;
  const bool has_dims = k.head_dim == 64 || k.head_dim == 128;
  return has_type && has_dims && has_tensor_map(k) && has_tensor_map(params.kv.v) &&
         is_on_hopper() && encode_tensor_map() != nullptr;
}

Status launch_paged_prefill_hopper(const PagedPrefillParams& params, KernelStream stream) {
  const KvTensorView& k = params.kv.k;
  HopperPrefillParams launched;
  launched.call = params;
  launched.run_keys = static_cast<int>(std::gcd(k.block_size, kRunKeysMax));
  launched.head_step = static_cast<int>(k.head_stride / kPartDims);
  RECTO_RETURN_IF_ERROR(encode(k, launched.run_keys, launched.keys));
  RECTO_RETURN_IF_ERROR(encode(params.kv.v, launched.run_keys, launched.values));
  return k.type == ElementType::kFp16 ? launch_of_dim<__half>(launched, stream)
                                      : launch_of_dim<__nv_bfloat16>(launched, stream);
}

}  // namespace recto::kernels
