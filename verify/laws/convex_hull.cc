// The output is a weighted mean of the visible values. Checked in two kinds of directions: each
// dim, and the difference of neighbouring dims, which must use the same weights.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"
#include "verify/laws/problem_geometry.h"

namespace recto::verify {
namespace {

// The rounding error of the differences computed here, relative to their operands.
constexpr double kDifferenceRoundoff = 0x1p-52;

struct Interval {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double largest() const { return std::max(std::abs(low), std::abs(high)); }
};

// The hull in one direction per dim: the dim itself, or its difference from the next.
struct Hull {
  std::vector<Interval> dims;         // [head_dim_v]
  std::vector<Interval> differences;  // [head_dim_v - 1]

  void include(const std::vector<double>& value) {
    for (std::size_t d = 0; d < dims.size(); ++d) dims[d].include(value[d]);
    for (std::size_t d = 0; d < differences.size(); ++d)
      differences[d].include(value[d] - value[d + 1]);
  }
};

Hull hull_of(const AttentionProblem& problem, const RowPlace& at, std::int64_t head) {
  const SequenceProblem& sequence = problem.sequences[static_cast<std::size_t>(at.sequence)];
  const KeysSeen keys = keys_seen(problem.options, sequence, at.row);
  const auto head_dim = static_cast<std::size_t>(problem.shape.head_dim_v);
  const std::int64_t kv_head = head / problem.shape.group();
  const double scale = scale_of_head(problem.v_scales, kv_head);
  Hull hull{.dims = std::vector<Interval>(head_dim),
            .differences = std::vector<Interval>(head_dim - 1)};
  std::vector<double> value(head_dim, 0.0);
  if (keys.size() == 0 || !problem.options.sinks.empty()) hull.include(value);
  for (std::int64_t j = keys.begin; j < keys.end; ++j) {
    const float* row =
        row_of(sequence.v, {problem.shape.num_kv_heads, problem.shape.head_dim_v}, j, kv_head);
    for (std::size_t d = 0; d < head_dim; ++d) value[d] = row[d] * scale;
    hull.include(value);
  }
  return hull;
}

// Expects a number inside the interval to equal itself, and one outside to equal the nearest end.
ComparedValues held_against(const Interval& interval, double seen, double bound) {
  const double nearest =
      std::isnan(seen) ? interval.low : std::clamp(seen, interval.low, interval.high);
  return {.seen = seen, .expected = nearest, .bound = bound};
}

void compare_head(const Hull& hull, const double* seen, const double* bound, ElementPlace place,
                  ElementComparer& comparer) {
  for (std::size_t d = 0; d < hull.dims.size(); ++d) {
    place.dim = static_cast<std::int64_t>(d);
    place.tensor = ComparedTensor::kOut;
    comparer.expect_within(place, held_against(hull.dims[d], seen[d], bound[d]));
    if (d == hull.differences.size()) continue;
    place.tensor = ComparedTensor::kOutDifference;
    const double roundoff =
        kDifferenceRoundoff * (hull.dims[d].largest() + hull.dims[d + 1].largest());
    comparer.expect_within(place, held_against(hull.differences[d], seen[d] - seen[d + 1],
                                               bound[d] + bound[d + 1] + roundoff));
  }
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  const std::optional<LawSide> side = trial.run(law_case);
  if (!side) return trial.verdict();
  const reference::AttentionResult bound = trial.bound_of(*side);
  const ProblemShape& shape = law_case.problem.shape;
  ElementComparer comparer(side->inputs());
  for (const RowPlace& at : all_rows(law_case.problem)) {
    for (std::int64_t h = 0; h < shape.num_q_heads; ++h) {
      const auto first =
          static_cast<std::size_t>((at.result_row * shape.num_q_heads + h) * shape.head_dim_v);
      compare_head(hull_of(law_case.problem, at, h), &side->seen.out[first], &bound.out[first],
                   {.sequence = at.sequence, .row = at.row, .head = h}, comparer);
    }
  }
  trial.record("out, against the hull of V", comparer.comparison());
  return trial.verdict();
}

}  // namespace

Law convex_hull_law() {
  return {.name = "convex_hull",
          .statement = "out lies inside the convex hull of V, and of 0 if there is a sink",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify
