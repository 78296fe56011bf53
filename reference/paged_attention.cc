#include "reference/paged_attention.h"

#include <algorithm>

#include "core/contract.h"
#include "reference/kv_cache_reader.h"
#include "reference/online_softmax.h"

namespace recto::reference {
namespace {

std::size_t as_size(std::int64_t count) { return static_cast<std::size_t>(count); }

// Attends all rows of one query head over one sequence's blocks, each row with its online state.
HeadOutput attend_over_blocks(const PagedAttentionInputs& inputs, const SequenceRows& sequence,
                              std::int64_t head) {
  const std::int64_t kv_head = head / (inputs.q.num_heads / inputs.kv.k.num_kv_heads);
  const std::int64_t block_size = inputs.kv.k.block_size;
  const HeadOptions options = head_options(inputs.options, head);
  const Matrix q = read_rows(inputs.q, head, sequence.first_row, sequence.num_rows);
  std::vector<SoftmaxState> states(as_size(sequence.num_rows),
                                   SoftmaxState::identity(inputs.kv.v.head_dim));
  for (std::int64_t first = 0; first < sequence.context_length; first += block_size) {
    const std::int64_t count = std::min(block_size, sequence.context_length - first);
    const std::int32_t* block = sequence.block_table_row + first / block_size;
    const Matrix k = gather_head(inputs.kv.k, block, count, kv_head);
    const Matrix v = gather_head(inputs.kv.v, block, count, kv_head);
    for (std::int64_t row = 0; row < sequence.num_rows; ++row) {
      const KeyRange seen = visible_keys(options, row, sequence.num_rows, sequence.context_length);
      const std::int64_t begin = std::max(seen.begin, first);
      const std::int64_t keys = std::min(seen.end, first + count) - begin;
      if (keys <= 0) continue;
      const Vector scores =
          score_keys(q.row(row), k.middleRows(begin - first, keys), options,
                     begin - position_of(row, sequence.num_rows, sequence.context_length));
      SoftmaxState& state = states[as_size(row)];
      state = merge(state, tile_state(scores, v.middleRows(begin - first, keys)));
    }
  }
  HeadOutput output{Matrix(sequence.num_rows, inputs.kv.v.head_dim), Vector(sequence.num_rows)};
  for (std::int64_t row = 0; row < sequence.num_rows; ++row) {
    const RowOutput finished = finish(states[as_size(row)], options.sink);
    output.out.row(row) = finished.out.transpose();
    output.lse_ln[row] = finished.lse_ln;
  }
  return output;
}

// Cached keys or values, with those of the newest token as the last row.
Matrix with_last_row(const Matrix& cached, const Matrix& newest) {
  Matrix all(cached.rows() + 1, cached.cols());
  all << cached, newest;
  return all;
}

KvHeadContext group_of(const RowsView& q, const PagedKvView& kv, std::int64_t kv_head) {
  const std::int64_t group = q.num_heads / kv.k.num_kv_heads;
  KvHeadContext context;
  context.kv_head = kv_head;
  context.q_head_begin = kv_head * group;
  context.q_head_end = context.q_head_begin + group;
  return context;
}

template <typename Inputs>
AttentionResult attend(const Inputs& inputs) {
  AttentionResult result(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
  for_each_kv_head(inputs, [&](const KvHeadContext& context) {
    for (std::int64_t head = context.q_head_begin; head < context.q_head_end; ++head) {
      const Matrix q = read_rows(inputs.q, head, context.first_row, context.num_rows);
      const HeadOptions options = head_options(inputs.options, head);
      result.store(context.first_row, head, dense_attention({q, context.k, context.v}, options));
    }
  });
  return result;
}

}  // namespace

AttentionResult::AttentionResult(std::int64_t rows, std::int64_t heads, std::int64_t dim)
    : num_rows(rows),
      num_heads(heads),
      head_dim(dim),
      out(as_size(rows * heads * dim)),
      lse_ln(as_size(rows * heads)) {}

double& AttentionResult::out_at(std::int64_t row, std::int64_t head, std::int64_t dim) {
  return out[as_size((row * num_heads + head) * head_dim + dim)];
}

double AttentionResult::out_at(std::int64_t row, std::int64_t head, std::int64_t dim) const {
  return out[as_size((row * num_heads + head) * head_dim + dim)];
}

double& AttentionResult::lse_ln_at(std::int64_t row, std::int64_t head) {
  return lse_ln[as_size(row * num_heads + head)];
}

double AttentionResult::lse_ln_at(std::int64_t row, std::int64_t head) const {
  return lse_ln[as_size(row * num_heads + head)];
}

void AttentionResult::store(std::int64_t first_row, std::int64_t head, const HeadOutput& output) {
  RECTO_CHECK_EQ(output.out.cols(), head_dim);
  for (std::int64_t row = 0; row < output.out.rows(); ++row) {
    for (std::int64_t dim = 0; dim < head_dim; ++dim) {
      out_at(first_row + row, head, dim) = output.out(row, dim);
    }
    lse_ln_at(first_row + row, head) = output.lse_ln[row];
  }
}

HeadOptions head_options(const AttentionOptions& options, std::int64_t head) {
  HeadOptions of_head;
  of_head.scale = options.scale;
  of_head.softcap = options.softcap;
  of_head.causal = options.causal;
  of_head.window = options.window;
  if (!options.alibi_slopes.empty()) of_head.alibi_slope = options.alibi_slopes[as_size(head)];
  if (!options.sinks.empty()) of_head.sink = options.sinks[as_size(head)];
  return of_head;
}

std::vector<SequenceRows> sequences_of(const PagedAttentionInputs& inputs) {
  std::vector<SequenceRows> sequences;
  for (std::int64_t seq = 0; seq < std::ssize(inputs.context_length); ++seq) {
    const bool has_one_row = inputs.query_start.empty();
    const std::int64_t first = has_one_row ? seq : inputs.query_start[as_size(seq)];
    const std::int64_t end = has_one_row ? seq + 1 : inputs.query_start[as_size(seq + 1)];
    sequences.push_back(
        {.first_row = first,
         .num_rows = end - first,
         .context_length = inputs.context_length[as_size(seq)],
         .block_table_row = inputs.block_table.data + seq * inputs.block_table.row_stride});
  }
  return sequences;
}

void for_each_kv_head(const PagedAttentionInputs& inputs, const KvHeadVisit& visit) {
  for (const SequenceRows& sequence : sequences_of(inputs)) {
    for (std::int64_t kv_head = 0; kv_head < inputs.kv.k.num_kv_heads; ++kv_head) {
      KvHeadContext context = group_of(inputs.q, inputs.kv, kv_head);
      context.first_row = sequence.first_row;
      context.num_rows = sequence.num_rows;
      const std::int32_t* blocks = sequence.block_table_row;
      context.k = gather_head(inputs.kv.k, blocks, sequence.context_length, kv_head);
      context.v = gather_head(inputs.kv.v, blocks, sequence.context_length, kv_head);
      visit(context);
    }
  }
}

void for_each_kv_head(const DecodeStepInputs& inputs, const KvHeadVisit& visit) {
  for (std::int64_t seq = 0; seq < inputs.q.num_rows; ++seq) {
    const std::int32_t* blocks = inputs.block_table.data + seq * inputs.block_table.row_stride;
    const std::int64_t cached = inputs.cached_length[as_size(seq)];
    for (std::int64_t kv_head = 0; kv_head < inputs.kv.k.num_kv_heads; ++kv_head) {
      KvHeadContext context = group_of(inputs.q, inputs.kv, kv_head);
      context.first_row = seq;
      context.num_rows = 1;
      context.k = with_last_row(gather_head(inputs.kv.k, blocks, cached, kv_head),
                                read_rows(inputs.new_k, kv_head, seq, 1));
      context.v = with_last_row(gather_head(inputs.kv.v, blocks, cached, kv_head),
                                read_rows(inputs.new_v, kv_head, seq, 1));
      visit(context);
    }
  }
}

AttentionResult paged_attention(const PagedAttentionInputs& inputs) { return attend(inputs); }

AttentionResult paged_attention_over_blocks(const PagedAttentionInputs& inputs) {
  AttentionResult result(inputs.q.num_rows, inputs.q.num_heads, inputs.kv.v.head_dim);
  for (const SequenceRows& sequence : sequences_of(inputs)) {
    for (std::int64_t head = 0; head < inputs.q.num_heads; ++head) {
      result.store(sequence.first_row, head, attend_over_blocks(inputs, sequence, head));
    }
  }
  return result;
}

AttentionResult decode_step(const DecodeStepInputs& inputs) { return attend(inputs); }

}  // namespace recto::reference
