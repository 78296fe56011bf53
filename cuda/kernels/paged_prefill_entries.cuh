#pragma once

// The instantiations in one source file, as rows of the table. Host code.

#include <kernel_dialect.h>

#include <cstdint>
#include <initializer_list>

#include "cuda/kernels/dispatch.cuh"
#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/paged_prefill.cuh"

namespace recto::kernels {

// Number of row tiles of a sequence, for each KV head.
inline std::int64_t prefill_tiles(const PagedPrefillParams& params) {
  const std::int64_t group = params.q.num_heads / params.kv.k.num_kv_heads;
  return (params.max_query_length * group + kPrefillRows - 1) / kPrefillRows;
}

struct PrefillLauncher {
  using Params = PagedPrefillParams;

  template <typename Shape>
  static Status launch(const Params& params, KernelStream stream) {
    const KernelLaunch how = {.grid = grid_of(prefill_tiles(params), params.kv.k.num_kv_heads,
                                              params.block_table.num_seqs),
                              .block = dim3(kPrefillThreads),
                              .dynamic_shared_bytes = Shape::kSharedBytes,
                              .stream = stream};
    return launch_served("paged_prefill", how, &paged_prefill<Shape>, params);
  }
};

template <typename Products, typename Stored, int... kHeadDims>
KernelTable<PagedPrefillParams> prefill_entries(ElementType q_type,
                                                std::initializer_list<ElementType> kv_types) {
  return entries_of<PrefillLauncher, PrefillShape<Products, Stored, kHeadDims>...>(q_type,
                                                                                   kv_types);
}

KernelTable<PagedPrefillParams> prefill_entries_fp32();
KernelTable<PagedPrefillParams> prefill_entries_fp16();
KernelTable<PagedPrefillParams> prefill_entries_bf16();

}  // namespace recto::kernels
