#pragma once

// Where a context is divided into splits, and where the states of its splits are.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/decode_row.cuh"
#include "cuda/kernels/split_decode.h"

namespace recto::kernels {

// The keys of each split of a context, except the last one's.
__device__ inline std::int64_t split_size_of(const KeyRange& keys,
                                             const SplitDecodeParams& params) {
  if (params.split_rule == SplitRule::kFixedSize || keys.size() <= 0) return params.split_size;
  // Splits grow in units of split_size; one unit in every split covers this many keys.
  const std::int64_t step = params.split_size * params.num_splits;
  const auto most = static_cast<unsigned>(step < INT32_MAX ? step : INT32_MAX);
  return (static_cast<unsigned>(keys.size()) + most - 1) / most * params.split_size;
}

// The first key of split `split`; the end of the range if there is no such split.
__device__ inline int split_begin(const KeyRange& keys, std::int64_t split_size,
                                  std::int64_t split) {
  const std::int64_t from = split * split_size;
  return from < keys.size() ? keys.begin + static_cast<int>(from) : keys.end;
}

// The keys of a split. The last split takes all the remaining keys, so a context that is longer
// than declared is not truncated.
__device__ inline KeyRange keys_of_split(const KeyRange& keys, const SplitDecodeParams& params,
                                         std::int64_t split) {
  const std::int64_t size = split_size_of(keys, params);
  return {split_begin(keys, size, split),
          split + 1 == params.num_splits ? keys.end : split_begin(keys, size, split + 1)};
}

// The index of the first state of one row's splits.
__device__ inline std::int64_t first_state(const SplitDecodeParams& params, std::int64_t sequence,
                                           std::int64_t head) {
  return (sequence * params.decode.q.num_heads + head) * params.num_splits;
}

}  // namespace recto::kernels
