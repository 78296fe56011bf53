#pragma once

// Attention over a paged cache in fp64: the oracle that kernels are compared with. It reads the
// fields of views that core/attention_gate.h has checked, and has its own index formulas.

#include <cstdint>
#include <functional>
#include <vector>

#include "core/attention_views.h"
#include "reference/dense_attention.h"

namespace recto::reference {

struct AttentionResult {
  std::int64_t num_rows = 0;
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
  std::vector<double> out;     // [num_rows, num_heads, head_dim]
  std::vector<double> lse_ln;  // [num_rows, num_heads]

  AttentionResult() = default;
  AttentionResult(std::int64_t rows, std::int64_t heads, std::int64_t dim);

  double& out_at(std::int64_t row, std::int64_t head, std::int64_t dim);
  double out_at(std::int64_t row, std::int64_t head, std::int64_t dim) const;
  double& lse_ln_at(std::int64_t row, std::int64_t head);
  double lse_ln_at(std::int64_t row, std::int64_t head) const;

  // Stores the output of one head into rows [first_row, first_row + output.out.rows()).
  void store(std::int64_t first_row, std::int64_t head, const HeadOutput& output);
};

// Gathers each sequence's context, then runs dense_attention on it.
AttentionResult paged_attention(const PagedAttentionInputs& inputs);

// The same without gathering: keeps one online softmax state per row and visits one block at a
// time.
AttentionResult paged_attention_over_blocks(const PagedAttentionInputs& inputs);

// One decode step. The newest token's K and V are not in the cache yet, so each row sees up to
// cached_length + 1 keys.
AttentionResult decode_step(const DecodeStepInputs& inputs);

// One sequence's rows of a batch, and its blocks.
struct SequenceRows {
  std::int64_t first_row = 0;
  std::int64_t num_rows = 0;
  std::int64_t context_length = 0;
  const std::int32_t* block_table_row = nullptr;  // [max_blocks]
};
std::vector<SequenceRows> sequences_of(const PagedAttentionInputs& inputs);

// What the query heads of one group attend to in one sequence: one KV head's keys and values.
struct KvHeadContext {
  std::int64_t first_row = 0;  // of the sequence's query rows in the batch
  std::int64_t num_rows = 0;
  std::int64_t kv_head = 0;
  std::int64_t q_head_begin = 0;  // query heads that share it: [q_head_begin, q_head_end)
  std::int64_t q_head_end = 0;
  Matrix k;  // [context_length, head_dim_k]
  Matrix v;  // [context_length, head_dim_v]
};
using KvHeadVisit = std::function<void(const KvHeadContext&)>;

// Visits each KV head of each sequence, in order; each is gathered once. The context of a decode
// step is the cached tokens followed by the newest token as it was passed in: only the cached
// tokens have been quantised.
void for_each_kv_head(const PagedAttentionInputs& inputs, const KvHeadVisit& visit);
void for_each_kv_head(const DecodeStepInputs& inputs, const KvHeadVisit& visit);

// The HeadOptions of query head `head`.
HeadOptions head_options(const AttentionOptions& options, std::int64_t head);

}  // namespace recto::reference
