// Fault models: numbers rounded to too few bits, or truncated where rounding to nearest is right.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "reference/rounding.h"
#include "verify/explain/fault_model.h"

namespace recto::verify {
namespace {

using reference::Matrix;

// Numbers that are truncated to the 16-bit type of q.
struct Truncation {
  bool weights = false;
  bool cache = false;  // as decoded from fp8
  bool outputs = false;
};

// Truncation loses up to one step of the type. This subtracts half a step; the error of rounding to
// nearest, up to half a step either way, is already in the bounds.
double cut_off(double value, ElementType type) {
  if (!std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double half_step = std::max(std::ldexp(reference::unit_roundoff(type), exponent - 1),
                                    reference::underflow_error(type));
  return std::copysign(std::max(0.0, std::abs(value) - half_step), value);
}

// For numbers that are computed without error, such as the largest weight, 1.
double cut_off_unless_exact(double value, ElementType type) {
  return reference::round_to(value, type) == value ? value : cut_off(value, type);
}

// Tile by tile, since weights are truncated relative to the maximum so far.
void cut_off_weights(AttentionRow& row) {
  row.weigh();
  if (row.keeps_right_result) return;
  const double last = row.scores.maxCoeff();
  double maximum = -std::numeric_limits<double>::infinity();
  for (std::int64_t key = 0; key < row.scores.size(); ++key) {
    const std::int64_t tile = row.numerics.tile_size;
    if (key % tile == 0) {
      const std::int64_t keys = std::min(tile, row.scores.size() - key);
      maximum = std::max(maximum, row.scores.segment(key, keys).maxCoeff());
    }
    row.weights_of_out[key] =
        cut_off_unless_exact(std::exp(row.scores[key] - maximum), row.of.inputs.q.type) *
        std::exp(maximum - last);
  }
  if (row.numerics.summed_weights == reference::SummedWeights::kRounded)
    row.weights_of_sum = row.weights_of_out;
}

void truncate(AttentionRow& row, const Truncation& truncation) {
  const ElementType type = row.of.inputs.q.type;
  const auto cut_off_values = [type](Matrix& values) {
    values = values.unaryExpr([type](double value) { return cut_off_unless_exact(value, type); });
  };
  if (truncation.cache) {
    row.read([&](Matrix& k, Matrix& v) {
      cut_off_values(k);
      cut_off_values(v);
    });
  }
  if (truncation.weights) cut_off_weights(row);
  row.finish();
  if (truncation.outputs && !row.keeps_right_result)
    row.result->exact.out =
        row.result->exact.out.unaryExpr([type](double value) { return cut_off(value, type); });
}

struct NarrowType {
  const char* name;
  int digits;               // of a significand, including the leading one
  int least_step_exponent;  // exponent of the smallest step, in the subnormal range
  ElementType weights;      // the type of as many digits in whose bounds the weights are
};

// TF32 has fp32's exponents and fp16's digits (NVIDIA A100 whitepaper, "TF32").
constexpr NarrowType kTf32{"TF32", 11, -136, ElementType::kFp16};
constexpr NarrowType kFp16{"fp16", 11, -24, ElementType::kFp16};
constexpr NarrowType kBf16{"bf16", 8, -133, ElementType::kBf16};

// Narrows the inputs of products.
struct Narrowing {
  NarrowType type;
  bool is_cut_off;
  bool of_scores;  // q and K
  bool of_output;  // the weights and V

  std::string text() const {
    const char* const inputs = of_scores && of_output ? "q and K, and the weights and V,"
                               : of_scores            ? "q and K"
                                                      : "the weights and V";
    return fmt::format("{} are {} {} for their product", inputs,
                       is_cut_off ? "cut off to" : "rounded to", type.name);
  }

  double narrowed(double value) const {
    if (value == 0.0 || !std::isfinite(value)) return value;
    int exponent = 0;
    std::frexp(value, &exponent);
    const double step = std::ldexp(1.0, std::max(exponent - type.digits, type.least_step_exponent));
    return (is_cut_off ? std::trunc(value / step) : std::nearbyint(value / step)) * step;
  }
  template <typename Values>
  void narrow(Values& values) const {
    values = values.unaryExpr([this](double value) { return narrowed(value); }).eval();
  }

  void operator()(AttentionRow& row) const {
    // What weights are relative to depends on a kernel's tiles, so the bounds cover them.
    if (of_output) row.numerics.weight_type = type.weights;
    // Codes of fp8 are narrow already, and their scale is applied to the sum of products.
    const PagedKvView& kv = row.of.inputs.kv;
    row.read([&](Matrix& k, Matrix& v) {
      if (of_scores && !is_fp8(kv.k.type)) narrow(k);
      if (of_output && !is_fp8(kv.v.type)) narrow(v);
    });
    if (of_scores) narrow(row.q);
  }
};

}  // namespace

FaultFamily truncations(const FailedCase& of) {
  const ElementType type = of.inputs.q.type;
  if (type == ElementType::kFp32) return {};
  const bool reads_rounded =
      is_fp8(of.inputs.kv.k.type) && of.numerics.kv_read >= reference::unit_roundoff(type);
  const bool rounds_weights = of.numerics.weight_type == type;
  const bool rounds_outputs = of.numerics.output_type == type;
  FaultFamily family{.naming = Naming::kClosest};
  for (unsigned chosen = 1; chosen < 8; ++chosen) {
    const Truncation truncation{
        .weights = (chosen & 1U) != 0, .cache = (chosen & 2U) != 0, .outputs = (chosen & 4U) != 0};
    if (truncation.weights && !rounds_weights) continue;
    if (truncation.cache && !reads_rounded) continue;
    if (truncation.outputs && !rounds_outputs) continue;
    std::vector<std::string> names;
    if (truncation.weights) names.emplace_back("weights");
    if (truncation.cache) names.emplace_back("K and V out of fp8");
    if (truncation.outputs) names.emplace_back("outputs");
    family.models.push_back({fmt::format("{} are cut off to {}, not rounded to nearest",
                                         fmt::join(names, " and "), element_type_name(type)),
                             [=](AttentionRow& row) { truncate(row, truncation); }});
  }
  return family;
}

FaultFamily narrowings(const FailedCase& of) {
  std::vector<NarrowType> types;
  if (of.inputs.q.type == ElementType::kFp32) types = {kTf32, kFp16};
  if (of.inputs.q.type != ElementType::kBf16) types.push_back(kBf16);
  FaultFamily family{.what = "products of narrower inputs", .naming = Naming::kAboutAsClose};
  for (const NarrowType& type : types) {
    for (const bool is_cut_off : {false, true}) {
      for (const auto& [of_scores, of_output] :
           {std::pair{true, false}, std::pair{false, true}, std::pair{true, true}}) {
        const Narrowing narrowing{type, is_cut_off, of_scores, of_output};
        family.models.push_back({narrowing.text(), narrowing});
      }
    }
  }
  return family;
}

}  // namespace recto::verify
