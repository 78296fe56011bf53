#pragma once

// What stands in lengths and tables, looked at where they are: for debugging.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "core/status.h"

namespace recto::kernels {

// In the order in which they are looked for in a sequence.
enum class ContentsRule : std::int32_t {
  kNone,             // nothing is wrong
  kQueryStartFirst,  // query_start[0] is 0
  kQueryStartAscends,
  kQueryLength,           // at most max_query_length rows
  kQueryStartEnd,         // the last one is num_rows
  kContextNegative,       // unless a token is to be added: such a sequence is padding
  kContextBeyondPlan,     // at most max_context_length
  kContextBeyondTable,    // at most max_blocks * block_size
  kPositionBeyondRotary,  // of the added token, below num_positions
  kBlockId,               // from 0 to num_blocks - 1, where a context reaches
};

struct ContentsViolation {
  ContentsRule rule = ContentsRule::kNone;
  std::int64_t sequence = 0;
  std::int64_t column = 0;  // of the block table
  std::int64_t value = 0;
  std::int64_t limit = 0;
};

// All pointers are to device memory.
struct ContentsCheckParams {
  BlockTableView block_table = {};
  std::int64_t num_blocks = 0;
  std::int64_t block_size = 0;
  const std::int32_t* query_start = nullptr;  // [num_seqs + 1], or null
  // [num_seqs]: of contexts; of what is cached of them, if a token is to be added to each.
  const std::int32_t* lengths = nullptr;
  std::int64_t added_tokens = 0;   // 0 or 1
  std::int64_t num_positions = 0;  // of rotary embedding; 0: none
  std::int64_t num_query_rows = 0;
  std::int64_t max_query_length = 0;
  std::int64_t max_context_length = 0;
  // The first one by sequence, rule and column.
  ContentsViolation* violation = nullptr;
};

// One thread block. A failure is CUDA's; nothing was launched then.
Status launch_contents_check(const ContentsCheckParams& params, KernelStream stream);

}  // namespace recto::kernels
