#pragma once

// The instantiations in one source file, as rows of the table. Host code.

#include <kernel_dialect.h>

#include <cstdint>
#include <initializer_list>

#include "cuda/kernels/dispatch.cuh"
#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/paged_prefill.cuh"
#include "cuda/kernels/paged_prefill_wide.cuh"

namespace recto::kernels {

// Number of tiles of `tile_rows` rows of a sequence, for each KV head.
inline std::int64_t prefill_tiles(const PagedPrefillParams& params, int tile_rows) {
  const std::int64_t group = params.q.num_heads / params.kv.k.num_kv_heads;
  return (params.max_query_length * group + tile_rows - 1) / tile_rows;
}

template <typename Shape>
KernelLaunch prefill_launch(const PagedPrefillParams& params, KernelStream stream, int tile_rows,
                            int threads) {
  return {.grid = grid_of(prefill_tiles(params, tile_rows), params.kv.k.num_kv_heads,
                          params.block_table.num_seqs),
          .block = dim3(static_cast<unsigned>(threads)),
          .dynamic_shared_bytes = Shape::kSharedBytes,
          .stream = stream};
}

struct PrefillLauncher {
  using Params = PagedPrefillParams;

  template <typename Shape>
  static Status launch(const Params& params, KernelStream stream) {
    return launch_served("paged_prefill",
                         prefill_launch<Shape>(params, stream, kPrefillRows, kPrefillThreads),
                         &paged_prefill<Shape>, params);
  }
};

struct WidePrefillLauncher {
  using Params = PagedPrefillParams;

  template <typename Shape>
  static Status launch(const Params& params, KernelStream stream) {
    return launch_served("paged_prefill_wide",
                         prefill_launch<Shape>(params, stream, kWideRows, kWideThreads),
                         &paged_prefill_wide<Shape>, params);
  }
};

template <typename Products, typename Stored, int... kHeadDims>
KernelTable<PagedPrefillParams> prefill_entries(ElementType q_type,
                                                std::initializer_list<ElementType> kv_types) {
  return entries_of<PrefillLauncher, PrefillShape<Products, Stored, kHeadDims>...>(q_type,
                                                                                   kv_types);
}

template <typename Element, int... kHeadDims>
KernelTable<PagedPrefillParams> wide_prefill_entries(ElementType type) {
  return entries_of<WidePrefillLauncher, WideShape<Element, kHeadDims>...>(type, {type});
}

KernelTable<PagedPrefillParams> prefill_entries_fp32();
KernelTable<PagedPrefillParams> prefill_entries_fp16();
KernelTable<PagedPrefillParams> prefill_entries_bf16();
KernelTable<PagedPrefillParams> wide_prefill_entries_fp16();
KernelTable<PagedPrefillParams> wide_prefill_entries_bf16();

}  // namespace recto::kernels
