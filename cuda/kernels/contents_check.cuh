#pragma once

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/contents_check.h"

namespace recto::kernels {

inline constexpr int kContentsThreads = 256;

__device__ inline ContentsViolation violation(ContentsRule rule, std::int64_t index,
                                              std::int64_t value, std::int64_t limit) {
  return {rule, index, 0, value, limit};
}

// Checks a sequence's first query row and the one after its last.
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

// Each thread checks every 256th of `count` items until it finds a violation. Writes the first
// violation that any thread found, or that there is none. find(index) returns the violation of an
// item.
template <typename Find>
__device__ inline void write_first(std::int64_t count, ContentsViolation* written,
                                   const Find& find) {
  KERNEL_SHARED(std::int64_t, found_at, [kContentsThreads]);
  ContentsViolation own = {};
  std::int64_t index = threadIdx.x;
  for (; index < count; index += kContentsThreads) {
    own = find(index);
    if (own.rule != ContentsRule::kNone) break;
  }
  found_at[threadIdx.x] = index;
  __syncthreads();
  int first = 0;
  for (int thread = 1; thread < kContentsThreads; ++thread) {
    if (found_at[thread] < found_at[first]) first = thread;
  }
  if (static_cast<int>(threadIdx.x) == first) *written = own;
}

__global__ void __launch_bounds__(kContentsThreads)
    contents_check(const ContentsCheckParams params) {
  write_first(params.block_table.num_seqs, params.violation, [&params](std::int64_t sequence) {
    const ContentsViolation queries = wrong_queries(params, sequence);
    return queries.rule != ContentsRule::kNone ? queries : wrong_context(params, sequence);
  });
}

__device__ inline ContentsViolation wrong_slot(const SlotCheckParams& params, std::int64_t token) {
  const std::int64_t slot = params.slot_mapping[token];
  if (slot == -1) return {};
  if (slot < 0 || slot >= params.num_slots) {
    return violation(ContentsRule::kSlot, token, slot, params.num_slots);
  }
  if (params.repeated == RepeatedSlots::kLaterStays) return {};
  for (std::int64_t earlier = 0; earlier < token; ++earlier) {
    if (params.slot_mapping[earlier] == slot) {
      return {ContentsRule::kRepeatedSlot, token, earlier, slot, params.num_slots};
    }
  }
  return {};
}

__global__ void __launch_bounds__(kContentsThreads) slot_check(const SlotCheckParams params) {
  write_first(params.num_tokens, params.violation,
              [&params](std::int64_t token) { return wrong_slot(params, token); });
}

__device__ inline ContentsViolation wrong_pair(const PairCheckParams& params, std::int64_t index) {
  using enum ContentsRule;
  const BlockPair pair = params.pairs[index];
  if (pair.source < 0 || pair.source >= params.num_sources) {
    return violation(kSource, index, pair.source, params.num_sources);
  }
  if (pair.destination < 0 || pair.destination >= params.num_destinations) {
    return violation(kDestination, index, pair.destination, params.num_destinations);
  }
  for (std::int64_t other = 0; other < index; ++other) {
    if (params.pairs[other].destination == pair.destination) {
      return {kRepeatedWrite, index, other, pair.destination, 0};
    }
  }
  if (params.caches == Caches::kTwo) return {};
  for (std::int64_t other = 0; other < params.num_pairs; ++other) {
    if (params.pairs[other].destination == pair.source) {
      return {kOverwrittenSource, index, other, pair.source, 0};
    }
  }
  return {};
}

__global__ void __launch_bounds__(kContentsThreads) pair_check(const PairCheckParams params) {
  write_first(params.num_pairs, params.violation,
              [&params](std::int64_t index) { return wrong_pair(params, index); });
}

// Examines the code, because no comparison of numbers detects all non-finite ones.
__device__ inline ContentsViolation wrong_scale(const ScaleCheckParams& params,
                                                std::int64_t index) {
  const bool is_k = index < params.num_k;
  const std::int64_t head = is_k ? index : index - params.num_k;
  constexpr std::uint32_t kInfinity = 0x7f800000U;
  const std::uint32_t code = __float_as_uint(is_k ? params.k[head] : params.v[head]);
  if (code > 0 && code < kInfinity) return {};
  return violation(is_k ? ContentsRule::kScaleK : ContentsRule::kScaleV, head, code, 0);
}

__global__ void __launch_bounds__(kContentsThreads) scale_check(const ScaleCheckParams params) {
  write_first(params.num_k + params.num_v, params.violation,
              [&params](std::int64_t index) { return wrong_scale(params, index); });
}

__device__ inline ContentsViolation wrong_rows(const RowCheckParams& params,
                                               std::int64_t sequence) {
  const std::int64_t length = params.context_length[sequence];
  const std::int64_t start = params.context_start[sequence];
  if (start < 0 || start > params.num_rows - length) {
    return violation(ContentsRule::kRowsBeyond, sequence, start, params.num_rows - length);
  }
  if (length == 0) return {};
  for (std::int64_t other = 0; other < sequence; ++other) {
    const std::int64_t other_length = params.context_length[other];
    const std::int64_t other_start = params.context_start[other];
    // If `other` itself lies beyond the rows, that is reported for `other`.
    if (other_length > 0 && other_start < start + length && start - other_length < other_start) {
      return {ContentsRule::kSharedRows, sequence, other, start, 0};
    }
  }
  return {};
}

__global__ void __launch_bounds__(kContentsThreads) row_check(const RowCheckParams params) {
  write_first(params.num_seqs, params.violation,
              [&params](std::int64_t sequence) { return wrong_rows(params, sequence); });
}

}  // namespace recto::kernels
