#pragma once

// The instantiations of one file, as rows of the table. Host code.

#include <kernel_dialect.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "cuda/kernels/dispatch.cuh"
#include "cuda/kernels/paged_prefill.cuh"

namespace recto::kernels {

// Of a sequence's rows, for each KV head.
inline std::int64_t prefill_tiles(const PagedPrefillParams& params) {
  const std::int64_t group = params.q.num_heads / params.kv.k.num_kv_heads;
  return (params.max_query_length * group + kPrefillRows - 1) / kPrefillRows;
}

template <typename Shape>
Status launch_prefill_shape(const PagedPrefillParams& params, KernelStream stream) {
  const KernelLaunch how = {
      .grid = grid_of(prefill_tiles(params), params.kv.k.num_kv_heads, params.block_table.num_seqs),
      .block = dim3(kPrefillThreads),
      .dynamic_shared_bytes = Shape::kSharedBytes,
      .stream = stream};
  return launch_served("paged_prefill", how, &paged_prefill<Shape>, params);
}

// For these head dims, and caches of each of `kv_types`, which are alike but for their codes.
template <typename Products, typename Stored, int... kHeadDims>
std::vector<PrefillEntry> prefill_entries(ElementType q_type,
                                          std::initializer_list<ElementType> kv_types) {
  std::vector<PrefillEntry> entries;
  const auto add = [&]<int kHeadDim>() {
    using Shape = PrefillShape<Products, Stored, kHeadDim>;
    for (const ElementType kv_type : kv_types) {
      entries.push_back(
          {q_type, kv_type, kHeadDim, Shape::kSharedBytes, &launch_prefill_shape<Shape>});
    }
  };
  (add.template operator()<kHeadDims>(), ...);
  return entries;
}

std::vector<PrefillEntry> prefill_entries_fp32();
std::vector<PrefillEntry> prefill_entries_fp16();
std::vector<PrefillEntry> prefill_entries_bf16();

}  // namespace recto::kernels
