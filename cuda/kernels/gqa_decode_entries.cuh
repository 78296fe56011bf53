#pragma once

// The instantiations in one source file, as rows of the table. Host code.

#include <kernel_dialect.h>

#include <cstdint>
#include <initializer_list>

#include "cuda/kernels/dispatch.cuh"
#include "cuda/kernels/gqa_decode.cuh"
#include "cuda/kernels/kernel_table.h"

namespace recto::kernels {

// Whether tiles of `keys` keys can be fetched whole, and their scores need no other arithmetic than
// a factor: most calls. They have an instantiation of their own, because the general one has no
// registers for both paths. The bits are the same.
inline bool has_whole_tiles(const ReferenceDecodeParams& decode, std::int64_t keys) {
  const KvTensorView& k = decode.kv.k;
  const auto is_in_rows = [&](const KvTensorView& tensor) {
    return !is_packed(tensor) && tensor.block_size % keys == 0;
  };
  return is_in_rows(k) && is_in_rows(decode.kv.v) &&
         plain_factor_of(decode.options, decode.options.scale) > 0.0F;
}

struct GroupLauncher {
  using Params = SplitDecodeParams;

  template <typename Shape>
  static Status launch(const Params& params, KernelStream stream) {
    if constexpr (Shape::kTransfer == Transfer::kRows && Shape::kHasWholeTiles) {
      if (has_whole_tiles(params.decode, Shape::kKeys)) {
        return launch_shape<typename Shape::InWholeTiles>(params, stream);
      }
    }
    return launch_shape<Shape>(params, stream);
  }

 private:
  template <typename Shape>
  static Status launch_shape(const Params& params, KernelStream stream) {
    const ReferenceDecodeParams& decode = params.decode;
    const std::int64_t group = decode.q.num_heads / decode.kv.k.num_kv_heads;
    const std::int64_t tiles = (group + kTileRows - 1) / kTileRows;
    const KernelLaunch how = {
        .grid = grid_of(decode.q.num_rows, decode.kv.k.num_kv_heads * tiles, params.num_splits),
        .block = dim3(kDecodeThreads),
        .dynamic_shared_bytes = Shape::kSharedBytes,
        .stream = stream};
    return launch_served("gqa_decode", how, &gqa_decode<Shape>, params);
  }
};

template <typename NumbersType, int... kHeadDims>
KernelTable<SplitDecodeParams> gqa_decode_entries(ElementType q_type,
                                                  std::initializer_list<ElementType> kv_types) {
  return entries_of<GroupLauncher, GroupShape<NumbersType, kHeadDims>...>(q_type, kv_types);
}

KernelTable<SplitDecodeParams> gqa_decode_entries_fp32();
KernelTable<SplitDecodeParams> gqa_decode_entries_fp16();
KernelTable<SplitDecodeParams> gqa_decode_entries_bf16();
KernelTable<SplitDecodeParams> gqa_decode_entries_fp16_fp8();
KernelTable<SplitDecodeParams> gqa_decode_entries_bf16_fp8();

}  // namespace recto::kernels
