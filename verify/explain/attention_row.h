#pragma once

// The computation of one row of one head in steps. A fault model may change each step.

#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>

#include "reference/output_error.h"
#include "verify/explain/failed_case.h"

namespace recto::verify {

// K and V as read from the cache, shared by rows that read the same.
struct ReadCache {
  // Identifies what was read: the blocks, the number of keys, and the heads of K and V.
  std::tuple<const std::int32_t*, std::int64_t, std::int64_t, std::int64_t> source = {};
  reference::Matrix k = {};                // [context_length, head_dim_k]
  reference::Matrix v = {};                // [context_length, head_dim_v]
  reference::Vector key_coherence = {};    // [context_length]
  reference::Vector value_coherence = {};  // [head_dim_v]
};
// Changes K and V of a head as they are read; the same change for all rows that share them.
using CacheChange = std::function<void(reference::Matrix& k, reference::Matrix& v)>;

struct RowResult {
  reference::Vector out;  // [head_dim_v]
  double lse_ln = 0.0;
  reference::RowBound bound;
};
// `row` counts within the batch.
RowResult result_at(const reference::BoundedResult& result, std::int64_t row, std::int64_t head);

// Initially the right computation. A fault model changes the inputs of a step, or calls the step
// and changes its results; steps that it does not call run afterwards.
struct AttentionRow {
  AttentionRow(const FailedCase& the_case, const HeadRow& place, ReadCache& cache);

  void leave() { is_left = true; }  // keep the right result
  // Whether the row should see no key.
  bool is_empty() const { return of.visible_keys(at).size() == 0; }
  RowResult right() const { return result_at(of.right, of.row_of(at), at.head); }

  // Position in `context`, and the keys visible from there.
  std::int64_t position() const;
  reference::KeyRange visible() const;
  std::int64_t first_distance() const;  // from `origin` to the first of `keys`

  void read(const CacheChange& change = {});
  void weigh();
  void finish();

  const FailedCase& of;
  const HeadRow at;
  bool is_left = false;

  // Set before read().
  reference::SequenceRows context;  // whose keys are read
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

// The results if `change` were applied to each row; rows that it leaves are right.
reference::BoundedResult evaluate(const FailedCase& of, const RowChange& change);

}  // namespace recto::verify
