#include "verify/explanation/truncation_hypotheses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "reference/kv_cache_reader.h"
#include "reference/online_softmax.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

using reference::KernelNumerics;
using reference::Matrix;
using reference::Vector;

struct Truncated {
  bool weights = false;
  bool cache = false;
  bool outputs = false;
};

// What is cut off loses up to a step of its type: half of one, give or take what rounding to
// nearest may be off by, which bounds have already.
double cut_off(double value, ElementType type) {
  if (!std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double half_step = std::max(std::ldexp(reference::unit_roundoff(type), exponent - 1),
                                    reference::underflow_error(type));
  return std::copysign(std::max(0.0, std::abs(value) - half_step), value);
}

// Of a number that is computed without error, such as the largest weight, 1.
double cut_off_unless_exact(double value, ElementType type) {
  return reference::round_to(value, type) == value ? value : cut_off(value, type);
}

Matrix cut_off_cache(const Matrix& values, ElementType type) {
  return values.unaryExpr([type](double value) { return cut_off_unless_exact(value, type); });
}

class TruncatedAttention {
 public:
  TruncatedAttention(const PagedAttentionInputs& inputs, const KernelNumerics& numerics,
                     const Truncated& truncated)
      : inputs_(inputs), numerics_(numerics), truncated_(truncated), type_(inputs.q.type) {}

  reference::AttentionResult attend() const {
    reference::AttentionResult result(inputs_.q.num_rows, inputs_.q.num_heads,
                                      inputs_.kv.v.head_dim);
    reference::for_each_kv_head(inputs_, [&](reference::KvHeadContext context) {
      if (truncated_.cache) {
        context.k = cut_off_cache(context.k, type_);
        context.v = cut_off_cache(context.v, type_);
      }
      for (std::int64_t head = context.q_head_begin; head < context.q_head_end; ++head)
        result.store(context.first_row, head, attend_head(context, head));
    });
    return result;
  }

 private:
  reference::HeadOutput attend_head(const reference::KvHeadContext& context,
                                    std::int64_t head) const {
    const std::int64_t rows = context.num_rows;
    const reference::HeadOptions options = reference::head_options(inputs_.options, head);
    const Matrix q = reference::read_rows(inputs_.q, head, context.first_row, rows);
    reference::HeadOutput output{Matrix::Zero(rows, context.v.cols()), Vector(rows)};
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto seen = reference::visible_keys(options, row, rows, context.k.rows());
      const std::int64_t distance =
          seen.begin - reference::position_of(row, rows, context.k.rows());
      const Vector scores = reference::score_keys(
          q.row(row), context.k.middleRows(seen.begin, seen.size()), options, distance);
      const reference::RowOutput finished =
          attend_row(scores, context.v.middleRows(seen.begin, seen.size()), options.sink);
      output.out.row(row) = finished.out.transpose();
      output.lse_ln[row] = finished.lse_ln;
    }
    return output;
  }

  // Tile after tile, as weights are cut off beside the maximum so far.
  reference::RowOutput attend_row(const Vector& scores, const Matrix& v,
                                  const std::optional<double>& sink) const {
    reference::SoftmaxState state = reference::SoftmaxState::identity(v.cols());
    double maximum = -std::numeric_limits<double>::infinity();
    for (std::int64_t first = 0; first < scores.size(); first += numerics_.tile_size) {
      const std::int64_t count = std::min(numerics_.tile_size, scores.size() - first);
      maximum = std::max(maximum, scores.segment(first, count).maxCoeff());
      state = reference::merge(
          state, tile_state(scores.segment(first, count), v.middleRows(first, count), maximum));
    }
    reference::RowOutput row = reference::finish(state, sink);
    if (truncated_.outputs)
      row.out = row.out.unaryExpr([this](double value) { return cut_off(value, type_); });
    return row;
  }

  reference::SoftmaxState tile_state(const Vector& scores, const Matrix& v, double maximum) const {
    reference::SoftmaxState state = reference::SoftmaxState::identity(v.cols());
    state.maximum = maximum;
    for (std::int64_t key = 0; key < scores.size(); ++key) {
      const double weight = std::exp(scores[key] - maximum);
      const double multiplied = truncated_.weights ? cut_off_unless_exact(weight, type_) : weight;
      const bool is_summed = numerics_.summed_weights == reference::SummedWeights::kRounded;
      state.sum += is_summed ? multiplied : weight;
      if (multiplied > 0) state.weighted += multiplied * v.row(key).transpose();
    }
    return state;
  }

  const PagedAttentionInputs& inputs_;
  const KernelNumerics& numerics_;
  Truncated truncated_;
  ElementType type_;
};

}  // namespace

void add_truncations(HypothesisTrial& trial) {
  const PagedAttentionInputs& inputs = trial.inputs();
  const ElementType type = inputs.q.type;
  if (type == ElementType::kFp32) return;
  const KernelNumerics numerics = trial.numerics();
  const bool reads_rounded =
      is_fp8(inputs.kv.k.type) && numerics.kv_read >= reference::unit_roundoff(type);
  const bool rounds[] = {numerics.weight_type == type, reads_rounded, numerics.output_type == type};
  constexpr const char* kNames[] = {"weights", "K and V out of fp8", "outputs"};
  std::vector<HypothesisTrial::Variant> variants;
  for (unsigned chosen = 1; chosen < 8; ++chosen) {
    std::vector<std::string> names;
    bool is_possible = true;
    for (unsigned i = 0; i < 3; ++i) {
      if ((chosen >> i & 1U) == 0) continue;
      names.emplace_back(kNames[i]);
      is_possible = is_possible && rounds[i];
    }
    if (!is_possible) continue;
    const Truncated truncated{
        .weights = (chosen & 1U) != 0, .cache = (chosen & 2U) != 0, .outputs = (chosen & 4U) != 0};
    variants.push_back({fmt::format("{} are cut off to {}, not rounded to nearest",
                                    fmt::join(names, " and "), element_type_name(type)),
                        TruncatedAttention(inputs, numerics, truncated).attend()});
  }
  trial.add_roundings(variants);
}

}  // namespace recto::verify
