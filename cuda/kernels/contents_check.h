#pragma once

// Checks the contents of lengths and tables in device memory: for debugging.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"
#include "cuda/kernels/kv_write.h"

namespace recto::kernels {

// In the order in which a sequence is checked. The comments state the rules.
enum class ContentsRule : std::int32_t {
  kNone,             // nothing is wrong
  kQueryStartFirst,  // query_start[0] is 0
  kQueryStartAscends,
  kQueryLength,           // at most max_query_length rows
  kQueryStartEnd,         // the last one is num_rows
  kContextNegative,       // at least 0; negative is padding if a token is to be added
  kContextBeyondPlan,     // at most max_context_length
  kContextBeyondTable,    // at most max_blocks * block_size
  kPositionBeyondRotary,  // of the added token: below num_positions
  kBlockId,               // from 0 to num_blocks - 1, up to the end of the context
  // For slots.
  kSlot,          // -1, or from 0 to num_slots - 1
  kRepeatedSlot,  // not the slot of an earlier token
  // For pairs of blocks.
  kSource,             // from 0 to num_sources - 1
  kDestination,        // from 0 to num_destinations - 1
  kRepeatedWrite,      // not the destination of an earlier pair
  kOverwrittenSource,  // within one cache: not the destination of any pair
  // For scales.
  kScaleK,  // a finite number above 0
  kScaleV,  // the same
  // For rows that contexts are gathered into.
  kRowsBeyond,  // from 0 to num_rows - 1
  kSharedRows   // not a row of an earlier sequence
};

struct ContentsViolation {
  ContentsRule rule = ContentsRule::kNone;
  std::int64_t index = 0;  // of the sequence, token, pair or KV head
  // The column of the block table; or the token, pair or sequence that `index` conflicts with.
  std::int64_t other = 0;
  std::int64_t value = 0;  // of scales: the bits of the fp32
  std::int64_t limit = 0;
};

// All pointers are to device memory.
struct ContentsCheckParams {
  BlockTableView block_table = {};
  std::int64_t num_blocks = 0;
  std::int64_t block_size = 0;
  const std::int32_t* query_start = nullptr;  // [num_seqs + 1], or null
  // [num_seqs]: lengths of contexts or, if a token is to be added to each, of their cached parts.
  const std::int32_t* lengths = nullptr;
  std::int64_t added_tokens = 0;   // 0 or 1
  std::int64_t num_positions = 0;  // of rotary embedding; 0: none
  std::int64_t num_query_rows = 0;
  std::int64_t max_query_length = 0;
  std::int64_t max_context_length = 0;
  // The first violation by sequence, rule and column.
  ContentsViolation* violation = nullptr;
};

// One thread block, as for all checks here. A failure is CUDA's, and nothing has been launched.
Status launch_contents_check(const ContentsCheckParams& params, KernelStream stream);

struct SlotCheckParams {
  const std::int64_t* slot_mapping = nullptr;  // [num_tokens], in device memory
  std::int64_t num_tokens = 0;
  std::int64_t num_slots = 0;                           // of the cache
  RepeatedSlots repeated = RepeatedSlots::kLaterStays;  // kNone: repeats are violations
  ContentsViolation* violation = nullptr;               // the first one by token and rule
};

// O(num_tokens) for each thread; O(num_tokens^2 / 256) with RepeatedSlots::kNone.
Status launch_slot_check(const SlotCheckParams& params, KernelStream stream);

enum class Caches : std::uint8_t { kOne, kTwo };

struct PairCheckParams {
  const BlockPair* pairs = nullptr;  // [num_pairs], in device memory
  std::int64_t num_pairs = 0;
  std::int64_t num_sources = 0;       // blocks of the cache that is read
  std::int64_t num_destinations = 0;  // of the cache that is written
  Caches caches = Caches::kTwo;
  ContentsViolation* violation = nullptr;  // the first one by pair and rule
};

// O(num_pairs^2 / 256) for each thread.
Status launch_pair_check(const PairCheckParams& params, KernelStream stream);

struct ScaleCheckParams {
  const float* k = nullptr;  // [num_k], in device memory
  std::int64_t num_k = 0;
  const float* v = nullptr;  // [num_v]
  std::int64_t num_v = 0;
  ContentsViolation* violation = nullptr;  // the first one, K's before V's
};

// O(num_k + num_v).
Status launch_scale_check(const ScaleCheckParams& params, KernelStream stream);

struct RowCheckParams {
  const std::int32_t* context_length = nullptr;  // [num_seqs], at least 0, in device memory
  const std::int64_t* context_start = nullptr;   // [num_seqs]
  std::int64_t num_seqs = 0;
  std::int64_t num_rows = 0;
  ContentsViolation* violation = nullptr;  // the first one by sequence and rule
};

// O(num_seqs^2 / 256) for each thread.
Status launch_row_check(const RowCheckParams& params, KernelStream stream);

}  // namespace recto::kernels
