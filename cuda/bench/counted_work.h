#pragma once

// The bytes that each kernel must move and the operations it must do, counted from shapes: each
// needed byte once, without costs of caches or of a kernel's method. Measured times are compared
// with these.

#include <cstdint>

#include "cuda/bench/batch_shape.h"

namespace recto::bench {

// The work of one call.
struct Work {
  double bytes = 0;  // read and written
  double flops = 0;  // a multiply-add counts two
};

// K, V and q read, out and lse written, table entries and lengths read. Two products of head_dim
// for each pair of a query row and a key that it sees (causal, aligned at the last key).
Work attention_work(const BatchShape& shape);

// K and V of all tokens read in q's type and written in the cache's, and 8 bytes of mapping each.
Work kv_write_work(const BatchShape& shape);

// The same for one token per sequence, with a table entry and two lengths instead of the mapping.
Work kv_append_work(const BatchShape& shape);

// All blocks of K and V read and written, and 8 bytes of ids each: copies and swaps.
Work block_copy_work(const BatchShape& shape);

// K and V of all tokens read and written, table entries and lengths read.
Work gather_work(const BatchShape& shape);

// The states of `num_splits` splits of each row and query head read (fp32: maximum, sum and
// head_dim weighted sums), out and lse written, lengths read; a multiply-add for each number read.
Work merge_work(const BatchShape& shape, std::int64_t num_splits);

}  // namespace recto::bench
