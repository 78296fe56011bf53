#pragma once

// Decode attention in two launches: each thread block computes one part of a context, so that many
// thread blocks work on one long sequence; then the parts are merged.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/status.h"
#include "cuda/kernels/reference_decode.h"

namespace recto::kernels {

// Workspace: the softmax states of splits. States of splits that a context does not reach are
// neither written nor read.
struct SplitStates {
  float* maximum = nullptr;   // [num_seqs, num_q_heads, num_splits]
  float* sum = nullptr;       // the same
  float* weighted = nullptr;  // [num_seqs, num_q_heads, num_splits, v.head_dim]
};

// How a context's visible keys are divided, from the first one on.
enum class SplitRule : std::uint8_t {
  // split_size keys each, so that the bits of a row do not depend on other rows. The last of
  // num_splits takes all the remaining keys: a context longer than planned is computed completely,
  // but its bits then depend on num_splits too.
  kFixedSize,
  // Shares of equal size, the least multiple of split_size with which num_splits are enough: each
  // context occupies as many thread blocks as the plan has, whatever its length.
  kEqualShares,
};

struct SplitDecodeParams {
  ReferenceDecodeParams decode = {};
  SplitRule split_rule = SplitRule::kFixedSize;
  std::int64_t split_size = 0;  // keys; 1 to 2^31 - 1
  std::int64_t num_splits = 0;  // at most; kFixedSize: of the longest context, see num_splits()
  SplitStates states = {};
};

// Number of splits of that size of a context of up to `max_context_length` tokens, at least 1.
std::int64_t num_splits(std::int64_t max_context_length, std::int64_t split_size);

// Invalid input: impossible splits. For all kernels with splits.
Status check_splits(const SplitDecodeParams& params);

// One thread block for each (sequence, query head, split): writes `states`.
Status launch_split_decode(const SplitDecodeParams& params, KernelStream stream);

// One thread block for each (sequence, query head): reads `states`, writes out and lse.
Status launch_split_merge(const SplitDecodeParams& params, KernelStream stream);

}  // namespace recto::kernels
