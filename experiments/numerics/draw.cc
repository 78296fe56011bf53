#include "experiments/numerics/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/low_precision_attention.h"

namespace recto::experiments {
namespace {

using reference::AccumulatorRounding;
using reference::LowPrecisionOptions;

// Tensor cores truncate steps of 16 terms, in the type that fp8 is dequantised to; fp32 sums round
// to nearest.
LowPrecisionOptions kernel_under_test(ElementType type) {
  LowPrecisionOptions how{.tile_size = 64};
  if (type != ElementType::kFp32) {
    how.terms_per_step = 16;
    how.rounding = AccumulatorRounding::kTruncate;
    how.dequantised = reference::Dequantised::kQueryType;
  }
  return how;
}

reference::AttentionResult run_kernel(const PagedAttentionInputs& inputs) {
  return reference::low_precision_attention(inputs, kernel_under_test(inputs.q.type));
}

Row out_of(const reference::AttentionResult& result) {
  return Eigen::Map<const Row>(result.out.data(), result.head_dim);
}

}  // namespace

const char* fault_name(Fault fault) {
  constexpr const char* kNames[] = {"dropped key", "scale error", "swapped V"};
  return kNames[static_cast<int>(fault)];
}

const char* judge_name(Judge judge) {
  constexpr const char* kNames[] = {"probabilistic", "worst-case",           "fixed",
                                    "factor two",    "others probabilistic", "others worst-case"};
  return kNames[static_cast<int>(judge)];
}

bool is_refused(const Row& error, const Row& allowed) {
  return !(error.array().abs() <= allowed.array()).all();
}

double smallest_refused(const Row& error, const Row& direction, const Row& allowed) {
  if (is_refused(error, allowed)) return 0;
  double smallest = std::numeric_limits<double>::infinity();
  for (std::int64_t dim = 0; dim < error.size(); ++dim) {
    if (direction[dim] == 0) continue;
    const double along = direction[dim] > 0 ? error[dim] : -error[dim];
    smallest = std::min(smallest, (allowed[dim] - along) / std::abs(direction[dim]));
  }
  return smallest;
}

Draw::Draw(const StudyTypes& types, std::int64_t num_keys, RandomStream stream)
    : problem_(types, num_keys, stream) {
  solve();
}

void Draw::solve() {
  exact_ = reference::dense_attention({problem_.q(), problem_.k(), problem_.v()},
                                      problem_.head_options());
  for (Bounds* bounds : {&own_, &others_}) {
    if (bounds->model) bounds->model->reread_key(problem_.num_keys() - 1);
    bounds->bound.reset();
  }
}

double Draw::prepare(Fault fault, double size) {
  const bool needs_plant = fault != Fault::kScaleError;
  if (needs_plant) problem_.plant_last_key(size);
  if (!needs_plant && is_planted_) problem_.restore_last_key();
  if (needs_plant || is_planted_) solve();
  is_planted_ = needs_plant;
  if (needs_plant) return problem_.last_weight();
  return problem_.with_scale_error(size).options.scale / problem_.head_options().scale - 1;
}

Draw::Errors Draw::right_errors() const {
  const reference::AttentionResult result = run_kernel(problem_.inputs());
  return {out_of(result) - exact_.out.row(0), result.lse_ln[0] - exact_.lse_ln[0]};
}

Row Draw::faulty_error(Fault fault, double size) const {
  const auto wrong = [&] {
    switch (fault) {
      case Fault::kDroppedKey:
        return problem_.without_last_key();
      case Fault::kScaleError:
        return problem_.with_scale_error(size);
      case Fault::kSwappedValue:
        return problem_.with_swapped_value();
    }
    return problem_.inputs();
  };
  return out_of(run_kernel(wrong())) - exact_.out.row(0);
}

const reference::HeadBound& Draw::bound_by(Bounds& bounds,
                                           const reference::KernelNumerics& numerics) {
  if (!bounds.model) bounds.model.emplace(problem_.k(), problem_.v(), numerics);
  if (!bounds.bound) {
    bounds.bound = bounds.model->bound(problem_.q(), problem_.head_options(), exact_);
  }
  return *bounds.bound;
}

const reference::HeadBound& Draw::bound() {
  const PagedAttentionInputs inputs = problem_.inputs();
  return bound_by(own_, low_precision_numerics(inputs, kernel_under_test(inputs.q.type)));
}

const reference::HeadBound& Draw::bound_of_others() {
  const PagedAttentionInputs inputs = problem_.inputs();
  return bound_by(others_, reference::third_party_numerics(inputs.q.type, inputs.kv.k.type));
}

Row Draw::allowed(Judge judge) {
  switch (judge) {
    case Judge::kProbabilistic:
      return bound().probabilistic.row(0);
    case Judge::kWorstCase:
      return bound().worst_case.row(0);
    case Judge::kOthersProbabilistic:
      return bound_of_others().probabilistic.row(0);
    case Judge::kOthersWorstCase:
      return bound_of_others().worst_case.row(0);
    case Judge::kFixed:
      return Row::Constant(kHeadDim, kFixedTolerance);
    case Judge::kFactorTwo: {
      const Row yardstick =
          out_of(reference::low_precision_attention(problem_.inputs(), LowPrecisionOptions()));
      return Row::Constant(kHeadDim, 2 * (yardstick - exact_.out.row(0)).cwiseAbs().maxCoeff());
    }
  }
  return Row::Zero(kHeadDim);
}

Row Draw::direction(Fault fault) const {
  const std::int64_t last = problem_.num_keys() - 1;
  const Row out = exact_.out.row(0);
  const Row value = problem_.v().row(last);
  switch (fault) {
    case Fault::kDroppedKey:
      // out = (1 - w) others + w value.
      return (out - value) / (1 - problem_.last_weight());
    case Fault::kScaleError: {
      const reference::Vector scores =
          reference::score_keys(problem_.q().row(0), problem_.k(), problem_.head_options(), -last);
      // (sum of p s v) - (sum of p s) out.
      const reference::Vector moved = (scores.array() - exact_.lse_ln[0]).exp() * scores.array();
      return moved.transpose() * problem_.v() - moved.sum() * out;
    }
    case Fault::kSwappedValue:
      return problem_.v().row(problem_.donor()) - value;
  }
  return Row::Zero(kHeadDim);
}

}  // namespace recto::experiments
