#pragma once

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/contents_check.h"

namespace recto::kernels {

inline constexpr int kContentsThreads = 256;

__device__ inline ContentsViolation violation(ContentsRule rule, std::int64_t sequence,
                                              std::int64_t value, std::int64_t limit) {
  return {rule, sequence, 0, value, limit};
}

// Of a sequence's first query row and the one after its last.
__device__ inline ContentsViolation wrong_queries(const ContentsCheckParams& params,
                                                  std::int64_t sequence) {
  const std::int32_t* start = params.query_start;
  if (start == nullptr) return {};
  const std::int64_t first = start[sequence];
  const std::int64_t end = start[sequence + 1];
  using enum ContentsRule;
  if (sequence == 0 && first != 0) return violation(kQueryStartFirst, sequence, first, 0);
  if (end < first) return violation(kQueryStartAscends, sequence, end, first);
  if (end - first > params.max_query_length) {
    return violation(kQueryLength, sequence, end - first, params.max_query_length);
  }
  if (sequence == params.block_table.num_seqs - 1 && end != params.num_query_rows) {
    return violation(kQueryStartEnd, sequence, end, params.num_query_rows);
  }
  return {};
}

__device__ inline ContentsViolation wrong_context(const ContentsCheckParams& params,
                                                  std::int64_t sequence) {
  const std::int64_t stored = params.lengths[sequence];
  const std::int64_t length = stored + params.added_tokens;
  const std::int64_t reach = params.block_table.max_blocks * params.block_size;
  using enum ContentsRule;
  if (stored < 0) {
    return params.added_tokens > 0 ? ContentsViolation{}
                                   : violation(kContextNegative, sequence, stored, 0);
  }
  if (length > params.max_context_length) {
    return violation(kContextBeyondPlan, sequence, length, params.max_context_length);
  }
  if (length > reach) return violation(kContextBeyondTable, sequence, length, reach);
  if (params.num_positions > 0 && stored >= params.num_positions) {
    return violation(kPositionBeyondRotary, sequence, stored, params.num_positions);
  }
  const std::int32_t* ids = params.block_table.data + sequence * params.block_table.row_stride;
  for (std::int64_t column = 0; column * params.block_size < length; ++column) {
    if (ids[column] < 0 || ids[column] >= params.num_blocks) {
      return {kBlockId, sequence, column, ids[column], params.num_blocks};
    }
  }
  return {};
}

// Each thread looks at every 256th sequence until it finds something; the first of what all have
// found is written, or that there is nothing.
__global__ void __launch_bounds__(kContentsThreads)
    contents_check(const ContentsCheckParams params) {
  KERNEL_SHARED(std::int64_t, found_in, [kContentsThreads]);
  const std::int64_t num_seqs = params.block_table.num_seqs;
  ContentsViolation own = {};
  std::int64_t sequence = threadIdx.x;
  for (; sequence < num_seqs; sequence += kContentsThreads) {
    own = wrong_queries(params, sequence);
    if (own.rule == ContentsRule::kNone) own = wrong_context(params, sequence);
    if (own.rule != ContentsRule::kNone) break;
  }
  found_in[threadIdx.x] = sequence;
  __syncthreads();
  int first = 0;
  for (int thread = 1; thread < kContentsThreads; ++thread) {
    if (found_in[thread] < found_in[first]) first = thread;
  }
  if (static_cast<int>(threadIdx.x) == first) *params.violation = own;
}

}  // namespace recto::kernels
