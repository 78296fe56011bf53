#pragma once

// The computation of one row of one head in steps. A fault model may change each step.

#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <vector>

#include "verify/explain/failed_case.h"

namespace recto::verify {

// K and V as read from the cache, shared by rows that read the same.
struct ReadCache {
  // The blocks, the number of keys, and the heads of K and V; nothing before the first read.
  using Source = std::tuple<std::vector<std::int32_t>, std::int64_t, std::int64_t, std::int64_t>;
  std::optional<Source> source = {};
  reference::Matrix k = {};                // [context_length, head_dim_k]
  reference::Matrix v = {};                // [context_length, head_dim_v]
  reference::Vector key_coherence = {};    // [context_length]
  reference::Vector value_coherence = {};  // [head_dim_v]
};
// Changes K and V of a head as they are read; the same change for all rows that share them.
using CacheChange = std::function<void(reference::Matrix& k, reference::Matrix& v)>;

struct RowResult {
  reference::RowOutput exact;
  reference::RowOutput worst_case;     // bound
  reference::RowOutput probabilistic;  // bound
};
// `row` counts within the batch.
RowResult result_at(const reference::BoundedResult& result, std::int64_t row, std::int64_t head);

// Initially the right computation. A fault model changes the inputs of a step, or calls the step
// and changes its results; steps that it does not call run afterwards.
struct AttentionRow {
  AttentionRow(const FailedCase& the_case, const HeadRow& place, ReadCache& cache);

  void keep_right_result() { keeps_right_result = true; }
  RowResult right() const { return result_at(of.right, of.row_of(at), at.head); }
  // The result becomes these numbers, with the bounds of the right result.
  void set_result(double out, double lse_ln);

  std::int64_t block_size() const { return of.inputs.kv.k.block_size; }
  // The row's position among the keys, and the keys visible from there.
  std::int64_t position() const;
  reference::KeyRange visible() const;
  std::int64_t first_distance() const;  // from `origin` to the first of `keys`

  // Before read(): replace the sequence, the blocks, or the KV head that is read.
  void read_sequence(const reference::SequenceRows& sequence);
  void read_blocks(std::vector<std::int32_t> ids);  // keeps the right result if they are its own
  void read_kv_head(std::int64_t kv_head);          // the same

  void read(const CacheChange& change = {});
  void weigh();
  void finish();

  const FailedCase& of;
  const HeadRow at;
  bool keeps_right_result = false;

  // Set before read().
  std::int64_t num_rows = 0;         // of the sequence
  std::int64_t context_length = 0;   // keys that are read
  std::vector<std::int32_t> blocks;  // that hold them
  std::int64_t k_head = 0;
  std::int64_t v_head = 0;
  reference::HeadOptions options;
  std::optional<reference::KeyRange> keys;  // nothing: visible()
  std::optional<std::int64_t> origin;       // from which ALiBi counts; nothing: position()
  // Set by read().
  Eigen::RowVectorXd q;  // [head_dim_k]
  reference::Matrix k;   // [keys, head_dim_k]
  reference::Matrix v;   // [keys, head_dim_v]
  reference::KernelNumerics numerics;
  // Set by weigh(), by key.
  reference::Vector scores;
  reference::Vector weights;         // relative to the largest score
  reference::Vector weights_of_out;  // the same weights, in the product with V and in the sum
  reference::Vector weights_of_sum;
  // Set by finish(). If weights are changed, the bounds are those of the right result, scaled with
  // what is summed.
  std::optional<RowResult> result;

 private:
  RowResult as_read() const;
  RowResult as_weighed() const;

  ReadCache& cache_;
};

using RowChange = std::function<void(AttentionRow&)>;
using RowVisit = std::function<bool(const AttentionRow&)>;

// Computes the rows with `change`, until `visit` returns false.
void evaluate(const FailedCase& of, const RowChange& change, const RowVisit& visit);

}  // namespace recto::verify
