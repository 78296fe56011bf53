#include "verify/explanation/narrowing_hypotheses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "verify/explanation/faulty_parts.h"

namespace recto::verify {
namespace {

using reference::KernelNumerics;
using reference::Matrix;

struct NarrowType {
  const char* name;
  int digits;               // of a significand, with the leading one
  int least_step_exponent;  // of 2, below which nothing is told apart
  ElementType weights;      // the type in whose bounds the weights are, of as many digits
};

// TF32 has fp32's exponents and fp16's digits (NVIDIA A100 whitepaper, "TF32").
constexpr NarrowType kTf32{"TF32", 11, -136, ElementType::kFp16};
constexpr NarrowType kFp16{"fp16", 11, -24, ElementType::kFp16};
constexpr NarrowType kBf16{"bf16", 8, -133, ElementType::kBf16};

struct Narrowing {
  NarrowType type;
  bool is_cut_off;
  bool of_scores;  // q and K
  bool of_output;  // the weights and V

  std::string text() const {
    return fmt::format("{} are {} {} for their product", inputs(),
                       is_cut_off ? "cut off to" : "rounded to", type.name);
  }
  const char* inputs() const {
    if (of_scores && of_output) return "q and K, and the weights and V,";
    return of_scores ? "q and K" : "the weights and V";
  }
};

double narrowed(double value, const Narrowing& how) {
  if (value == 0.0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double step =
      std::ldexp(1.0, std::max(exponent - how.type.digits, how.type.least_step_exponent));
  return (how.is_cut_off ? std::trunc(value / step) : std::nearbyint(value / step)) * step;
}

// Codes of fp8 are narrow already, and their scale joins the sum of products.
void narrow_cache(Matrix& values, ElementType type, const Narrowing& how) {
  if (is_fp8(type)) return;
  values = values.unaryExpr([&how](double value) { return narrowed(value, how); });
}

reference::BoundedResult bounded_narrowed(const HypothesisTrial& trial, const Narrowing& how) {
  KernelNumerics numerics = trial.numerics();
  // What the weights are beside depends on a kernel's tiles: they are left to the bounds.
  if (how.of_output) numerics.weight_type = how.type.weights;
  return bounded_heads(trial, numerics, [&](HeadParts& parts) {
    if (how.of_scores) {
      parts.q = parts.q.unaryExpr([&how](double value) { return narrowed(value, how); });
      narrow_cache(parts.k, trial.inputs().kv.k.type, how);
    }
    if (how.of_output) narrow_cache(parts.v, trial.inputs().kv.v.type, how);
    return true;
  });
}

std::vector<Narrowing> narrowings(ElementType type_of_q) {
  std::vector<NarrowType> types;
  if (type_of_q == ElementType::kFp32) types = {kTf32, kFp16};
  if (type_of_q != ElementType::kBf16) types.push_back(kBf16);
  std::vector<Narrowing> all;
  for (const NarrowType& type : types) {
    for (const bool is_cut_off : {false, true}) {
      all.push_back({type, is_cut_off, true, false});
      all.push_back({type, is_cut_off, false, true});
      all.push_back({type, is_cut_off, true, true});
    }
  }
  return all;
}

}  // namespace

void add_narrowed_inputs(HypothesisTrial& trial) {
  const std::vector<Narrowing> all = narrowings(trial.inputs().q.type);
  if (all.empty() || !trial.affords("products of narrower inputs", std::ssize(all))) return;
  struct Fit {
    std::string what;
    double squared_distance;
  };
  std::vector<Fit> fits;
  // Bounds that have room for narrowed weights have it for other faults of that size, too, of which
  // such a result is no closer to what was seen than the right one.
  const double right = trial.squared_distance(trial.right().exact);
  for (const Narrowing& how : all) {
    const reference::BoundedResult faulty = bounded_narrowed(trial, how);
    if (!trial.explains(faulty)) continue;
    const double distance = trial.squared_distance(faulty.exact);
    if (distance < right) fits.push_back({how.text(), distance});
  }
  if (fits.empty()) return;
  const double closest = std::ranges::min(fits, {}, &Fit::squared_distance).squared_distance;
  // Twice the distance: roundings beside those of the fault.
  for (const Fit& fit : fits)
    if (fit.squared_distance <= 4.0 * closest) trial.name(fit.what);
}

}  // namespace recto::verify
