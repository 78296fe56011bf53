#pragma once

// A law for appending the newest token of each sequence in the slot that its block table gives. It
// compares whole pools with the reference's write to those slots.

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/attention_views.h"
#include "verify/law.h"

namespace recto::verify {

struct KvAppendInputs {
  RowsView k = {};  // [num_seqs, num_kv_heads, k.head_dim]
  RowsView v = {};  // [num_seqs, num_kv_heads, v.head_dim]
  BlockTableView block_table = {};
  // [num_seqs]: the position of the new token. If negative (padding), nothing is written.
  std::span<const std::int32_t> cached_length = {};
  MutablePagedKvView kv = {};
  std::span<std::int32_t> context_length = {};  // [num_seqs], output: tokens cached afterwards
};

struct KvAppender {
  std::string backend;  // the only backend to which the law applies, by name
  std::function<CallOutcome(const KvAppendInputs&)> append;
};

// "kv_append", on the tokens of kv_write_case.h: each is the newest of its own sequence, whose
// table has one valid block, in any column. Tokens without a slot are padding, or have no block in
// their table.
Law kv_append_law(const KvAppender& appender);

}  // namespace recto::verify
