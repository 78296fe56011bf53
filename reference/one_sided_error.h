#pragma once

// Rounding errors of a row's sums that go in one direction instead of averaging out: of terms that
// are equal, that fall into one rounding cell, or that are too small to change the sum. See
// docs/numerics.md, "The probabilistic bound".

#include <vector>

#include "reference/accumulation.h"
#include "reference/dense_attention.h"
#include "reference/numerics.h"
#include "reference/weight_error.h"

namespace recto::reference {

// A row's exact result and the inputs of its bounds.
struct RowProblem {
  Eigen::Ref<const Matrix> values;           // [n, head_dim_v], visible
  Eigen::Ref<const Vector> value_coherence;  // [head_dim_v]
  Eigen::Ref<const Eigen::RowVectorXd> out;  // [head_dim_v]
  double lse_ln = 0.0;
};

// multiplicity() of each dim's values: [head_dim_v].
Vector value_coherence(const Matrix& values);

struct OneSidedErrors {
  double stored_weights = 1.0;               // number of equal weights as stored for P V
  Eigen::RowVectorXd products;               // [head_dim_v]: number of equal products p_j v_jd
  Eigen::RowVectorXd rounded_products;       // [head_dim_v]: number of p_j rounded in one direction
  std::vector<SummedTerms> summed_products;  // [head_dim_v]
  Eigen::RowVectorXd product_loss;           // [head_dim_v], absolute: further loss of o
  double weight_loss = 0.0;                  // relative: loss of l
};

// O(n head_dim_v).
OneSidedErrors one_sided_errors(const RowProblem& row, const WeightErrors& weights,
                                const KernelNumerics& numerics);

}  // namespace recto::reference
