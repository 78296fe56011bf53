#include "cuda/bench/counted_work.h"

namespace recto::bench {
namespace {

constexpr std::int64_t kIdBytes = 4;       // of a table entry or a length
constexpr std::int64_t kLseLnBytes = 4;    // fp32
constexpr std::int64_t kStateBytes = 4;    // fp32
constexpr std::int64_t kMappingBytes = 8;  // of a slot id
constexpr std::int64_t kPairBytes = 8;     // source and destination
constexpr std::int64_t kKAndV = 2;

double as_double(std::int64_t value) { return static_cast<double>(value); }

std::int64_t lse_ln_bytes(const BatchShape& shape) {
  return kLseLnBytes * shape.num_rows() * shape.num_q_heads();
}

std::int64_t table_bytes(const BatchShape& shape) {
  return kIdBytes * (shape.num_blocks() + shape.num_seqs);
}

// Bytes read and written for one token.
std::int64_t written_bytes(const BatchShape& shape) {
  return kKAndV * (shape.new_token_bytes() + shape.token_bytes());
}

}  // namespace

Work attention_work(const BatchShape& shape) {
  const std::int64_t kv_bytes = kKAndV * shape.num_tokens() * shape.token_bytes();
  const std::int64_t rows = shape.rows_per_seq;
  // The last row of a sequence sees all keys, the row before it one key less, and so on.
  const std::int64_t pairs = rows * shape.num_tokens() - shape.num_seqs * (rows * (rows - 1) / 2);
  return {.bytes = as_double(kv_bytes + 2 * shape.row_bytes() + lse_ln_bytes(shape) +
                             table_bytes(shape)),
          .flops = 4.0 * as_double(pairs) * as_double(shape.num_q_heads() * shape.head_dim)};
}

Work kv_write_work(const BatchShape& shape) {
  return {.bytes = as_double(shape.num_tokens() * (written_bytes(shape) + kMappingBytes))};
}

Work kv_append_work(const BatchShape& shape) {
  return {.bytes = as_double(shape.num_seqs * (written_bytes(shape) + 3 * kIdBytes))};
}

Work block_copy_work(const BatchShape& shape) {
  const std::int64_t block_bytes = kKAndV * shape.slots_per_block() * shape.token_bytes();
  return {.bytes = as_double(shape.num_blocks() * (2 * block_bytes + kPairBytes))};
}

Work gather_work(const BatchShape& shape) {
  return {.bytes = as_double(2 * kKAndV * shape.num_tokens() * shape.token_bytes() +
                             table_bytes(shape))};
}

Work merge_work(const BatchShape& shape, std::int64_t num_splits) {
  const std::int64_t rows = shape.num_rows() * shape.num_q_heads();
  const std::int64_t numbers = rows * num_splits * (2 + shape.head_dim);
  return {.bytes = as_double(kStateBytes * numbers + shape.row_bytes() + lse_ln_bytes(shape) +
                             kIdBytes * shape.num_seqs),
          .flops = 2.0 * as_double(numbers)};
}

}  // namespace recto::bench
