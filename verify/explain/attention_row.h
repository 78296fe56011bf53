#pragma once

// The computation of one row of one head in steps, each of which a fault model may change.

#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>

#include "reference/output_error.h"
#include "verify/explain/failed_case.h"

namespace recto::verify {

// K and V as read from the cache, for rows that read the same.
struct ReadCache {
  // The blocks, how many keys they hold, and the heads of K and V.
  std::tuple<const std::int32_t*, std::int64_t, std::int64_t, std::int64_t> source = {};
  reference::Matrix k = {};                // [context_length, head_dim_k]
  reference::Matrix v = {};                // [context_length, head_dim_v]
  reference::Vector key_coherence = {};    // [context_length]
  reference::Vector value_coherence = {};  // [head_dim_v]
};
// Changes K and V of a head as they are read; the same for all rows that share them.
using CacheChange = std::function<void(reference::Matrix& k, reference::Matrix& v)>;

struct RowResult {
  reference::Vector out;  // [head_dim_v]
  double lse_ln = 0.0;
  reference::RowBound bound;
};
// `row` of the batch.
RowResult result_at(const reference::BoundedResult& result, std::int64_t row, std::int64_t head);

// Begins as the right computation. A fault model changes what a step begins with, or calls the step
// and changes what it made; the steps that it does not call follow it.
struct AttentionRow {
  AttentionRow(const FailedCase& the_case, const HeadRow& place, ReadCache& cache);

  void leave() { is_left = true; }  // as it is right
  // What the row should see.
  bool is_empty() const { return of.visible_keys(at).size() == 0; }
  RowResult right() const { return result_at(of.right, of.row_of(at), at.head); }

  // Position in `context`, and the keys that a row there sees.
  std::int64_t position() const;
  reference::KeyRange visible() const;
  std::int64_t first_distance() const;  // from `origin` to the first of `keys`

  void read(const CacheChange& change = {});
  void weigh();
  void finish();

  const FailedCase& of;
  const HeadRow at;
  bool is_left = false;

  // Before read().
  reference::SequenceRows context;  // whose keys are read
  std::int64_t k_head = 0;
  std::int64_t v_head = 0;
  reference::HeadOptions options;
  std::optional<reference::KeyRange> keys;  // nothing: visible()
  std::optional<std::int64_t> origin;       // that ALiBi counts from; nothing: position()
  // After it.
  Eigen::RowVectorXd q;  // [head_dim_k]
  reference::Matrix k;   // [keys, head_dim_k]
  reference::Matrix v;   // [keys, head_dim_v]
  reference::KernelNumerics numerics;
  // After weigh(): by key.
  reference::Vector scores;
  reference::Vector weights;         // beside the largest score
  reference::Vector weights_of_out;  // the same, in the product with V and in the sum
  reference::Vector weights_of_sum;
  // After finish(). If weights are changed, the bounds are those of the right result, and grow with
  // what is summed.
  std::optional<RowResult> result;

 private:
  RowResult as_read() const;
  RowResult as_weighed() const;

  ReadCache& cache_;
};

using RowChange = std::function<void(AttentionRow&)>;

// What would be returned if each row were changed so; rows without a change are right.
reference::BoundedResult evaluate(const FailedCase& of, const RowChange& change);

}  // namespace recto::verify
