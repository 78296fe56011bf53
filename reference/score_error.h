#pragma once

// Per-key error bounds of a kernel's scores, before the exponential. See docs/numerics.md,
// "Scores".

#include "reference/dense_attention.h"
#include "reference/numerics.h"

namespace recto::reference {

struct ScoreErrors {
  Vector scores;      // [n], exact
  Vector worst_case;  // [n], absolute; without the shift common to all keys
  Vector deviation;   // [n], of the independent part: to be multiplied by lambda
  Vector systematic;  // [n], the part of the probabilistic bound that does not average out
  Vector common;      // [n], shift per relative error of the scale, the same for all keys
};

// The visible keys of one query row.
struct KeyRows {
  Eigen::Ref<const Matrix> keys;       // [n, head_dim_k]
  Eigen::Ref<const Vector> coherence;  // [n]: count of each key's most frequent magnitude
  std::int64_t first_distance = 0;     // position of the first key minus that of the row
};

// multiplicity() of each key: [n].
Vector key_coherence(const Eigen::Ref<const Matrix>& keys);

ScoreErrors score_errors(const Eigen::Ref<const Eigen::RowVectorXd>& q, const KeyRows& keys,
                         const HeadOptions& options, const KernelNumerics& numerics);

}  // namespace recto::reference
