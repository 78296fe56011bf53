#pragma once

// Decode attention in two launches: thread blocks take a part of a context each, so that one long
// sequence is worked on by many of them; then the parts are merged.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/status.h"
#include "cuda/kernels/paged_decode.h"

namespace recto::kernels {

// Workspace: the softmax states of splits. Those of splits that a context does not reach are
// neither written nor read.
struct SplitStates {
  float* maximum = nullptr;   // [num_seqs, num_q_heads, num_splits]
  float* sum = nullptr;       // the same
  float* weighted = nullptr;  // [num_seqs, num_q_heads, num_splits, v.head_dim]
};

struct SplitDecodeParams {
  PagedDecodeParams decode = {};
  // Keys of one split, counted from the first visible one; 1 to 2^31 - 1. It alone decides where a
  // context is cut, so that a row's bits depend on nothing of other rows.
  std::int64_t split_size = 0;
  // What the longest context has, see num_splits(). The last split takes all that is left: so a
  // longer context is computed whole, but its bits follow from this number too.
  std::int64_t num_splits = 0;
  SplitStates states = {};
};

// Of a context of up to `max_context_length` tokens, at least 1.
std::int64_t num_splits(std::int64_t max_context_length, std::int64_t split_size);

// Invalid input: splits that there cannot be. Of all kernels that split.
Status check_splits(const SplitDecodeParams& params);

// One thread block for each (sequence, query head, split): writes `states`.
Status launch_split_decode(const SplitDecodeParams& params, KernelStream stream);

// One thread block for each (sequence, query head): reads `states`, writes out and lse.
Status launch_split_merge(const SplitDecodeParams& params, KernelStream stream);

}  // namespace recto::kernels
