#pragma once

// Turns errors of the weights into errors of the output, for one row of one head. See
// docs/numerics.md, "Output".

#include "reference/dense_attention.h"
#include "reference/numerics.h"
#include "reference/one_sided_error.h"
#include "reference/weight_error.h"

namespace recto::reference {

struct RowBound {
  Eigen::RowVectorXd worst_case;     // [head_dim_v]
  Eigen::RowVectorXd probabilistic;  // [head_dim_v]
  double lse_ln_worst_case = 0.0;
  double lse_ln_probabilistic = 0.0;
};

RowBound row_bound(const RowProblem& row, const WeightErrors& weights,
                   const KernelNumerics& numerics);

}  // namespace recto::reference
