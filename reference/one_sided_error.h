#pragma once

// Rounding errors of a row's sums that go in one direction instead of averaging out: of terms that
// are alike, that fall into one rounding cell, or that are too small to move the sum. See
// docs/numerics.md, "The probabilistic bound".

#include <vector>

#include "reference/accumulation.h"
#include "reference/dense_attention.h"
#include "reference/numerics.h"
#include "reference/weight_error.h"

namespace recto::reference {

// The row's exact result and what its bounds are computed from.
struct RowProblem {
  Eigen::Ref<const Matrix> values;           // [n, head_dim_v], visible
  Eigen::Ref<const Vector> value_coherence;  // [head_dim_v]
  Eigen::Ref<const Eigen::RowVectorXd> out;  // [head_dim_v]
  double lse_ln = 0.0;
};

struct OneSidedErrors {
  double stored_weights = 1.0;          // how many weights are alike as they are stored for P V
  Eigen::RowVectorXd products;          // [head_dim_v]: how many products p_j v_jd are alike
  Eigen::RowVectorXd rounded_products;  // [head_dim_v]: how many round p_j in one direction
  std::vector<SummedTerms> summed_products;  // [head_dim_v]
  Eigen::RowVectorXd product_loss;           // [head_dim_v], absolute: what o loses beyond that
  double weight_loss = 0.0;                  // relative: what l loses
};

// O(n head_dim_v).
OneSidedErrors one_sided_errors(const RowProblem& row, const WeightErrors& weights,
                                const KernelNumerics& numerics);

}  // namespace recto::reference
