#pragma once

// The instantiations of one file, as rows of the table. Host code.

#include <kernel_dialect.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "cuda/kernels/dispatch.cuh"
#include "cuda/kernels/group_decode.cuh"

namespace recto::kernels {

template <typename Shape>
Status launch_group_shape(const SplitDecodeParams& params, KernelStream stream) {
  const PagedDecodeParams& decode = params.decode;
  const std::int64_t group = decode.q.num_heads / decode.kv.k.num_kv_heads;
  const std::int64_t tiles = (group + kTileRows - 1) / kTileRows;
  const KernelLaunch how = {
      .grid = grid_of(decode.q.num_rows, decode.kv.k.num_kv_heads * tiles, params.num_splits),
      .block = dim3(kDecodeThreads),
      .dynamic_shared_bytes = Shape::kSharedBytes,
      .stream = stream};
  return launch_served("group_decode", how, &group_decode<Shape>, params);
}

// For these head dims, and caches of each of `kv_types`, which are alike but for their codes.
template <typename NumbersType, int... kHeadDims>
std::vector<GroupDecodeEntry> group_decode_entries(ElementType q_type,
                                                   std::initializer_list<ElementType> kv_types) {
  std::vector<GroupDecodeEntry> entries;
  const auto add = [&]<int kHeadDim>() {
    using Shape = GroupShape<NumbersType, kHeadDim>;
    for (const ElementType kv_type : kv_types) {
      entries.push_back(
          {q_type, kv_type, kHeadDim, Shape::kSharedBytes, &launch_group_shape<Shape>});
    }
  };
  (add.template operator()<kHeadDims>(), ...);
  return entries;
}

std::vector<GroupDecodeEntry> group_decode_entries_fp32();
std::vector<GroupDecodeEntry> group_decode_entries_fp16();
std::vector<GroupDecodeEntry> group_decode_entries_bf16();
std::vector<GroupDecodeEntry> group_decode_entries_fp16_fp8();
std::vector<GroupDecodeEntry> group_decode_entries_bf16_fp8();

}  // namespace recto::kernels
