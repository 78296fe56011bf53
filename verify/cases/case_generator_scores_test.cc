// The scores of drawn cases lie within their bound, reach the limits of the domain, and are
// sometimes all far from 0 in a row.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/cases/case_generator.h"

namespace recto::verify {
namespace {

constexpr int kCases = 1000;

const std::vector<CaseSpec>& many_cases() {
  static const std::vector<CaseSpec> kSpecs = [] {
    RandomStream stream(2026);
    std::vector<CaseSpec> drawn;
    for (int i = 0; i < kCases; ++i) drawn.push_back(draw_case(stream, CaseDomain{}));
    return drawn;
  }();
  return kSpecs;
}

struct ScoreRange {
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -std::numeric_limits<double>::infinity();

  bool is_empty() const { return lowest > highest; }
  double farthest() const { return is_empty() ? 0.0 : std::max(-lowest, highest); }
};

// A KV head's scale, or 1.
double scale_of(const std::vector<float>& scales, std::int64_t kv_head) {
  if (scales.empty()) return 1.0;
  return scales[scales.size() == 1 ? 0 : static_cast<std::size_t>(kv_head)];
}

// The scores of a row's head with all keys of its sequence, masked or not, in fp64. Ignores soft
// caps, which never enlarge a score.
ScoreRange range_of(const AttentionProblem& problem, const SequenceProblem& sequence,
                    std::int64_t row, std::int64_t head) {
  const ProblemShape& shape = problem.shape;
  const OwnedAttentionOptions& options = problem.options;
  const std::int64_t kv_head = head / shape.group();
  const double slope =
      options.alibi_slopes.empty() ? 0.0 : options.alibi_slopes[static_cast<std::size_t>(head)];
  const float* const q = sequence.q.data() + (row * shape.num_q_heads + head) * shape.head_dim_k;
  const std::int64_t position = sequence.context_length - sequence.num_rows + row;
  ScoreRange range;
  for (std::int64_t token = 0; token < sequence.context_length; ++token) {
    const float* const k =
        sequence.k.data() + (token * shape.num_kv_heads + kv_head) * shape.head_dim_k;
    double sum = 0.0;
    for (std::int64_t d = 0; d < shape.head_dim_k; ++d) sum += static_cast<double>(q[d]) * k[d];
    const double score = options.scale * scale_of(problem.k_scales, kv_head) * sum +
                         slope * static_cast<double>(token - position);
    range.lowest = std::min(range.lowest, score);
    range.highest = std::max(range.highest, score);
  }
  return range;
}

// One range for each row and head.
std::vector<ScoreRange> ranges_of(const CaseSpec& spec) {
  const AttentionProblem problem = make_problem(spec);
  std::vector<ScoreRange> ranges;
  for (const SequenceProblem& sequence : problem.sequences)
    for (std::int64_t row = 0; row < sequence.num_rows; ++row)
      for (std::int64_t head = 0; head < problem.shape.num_q_heads; ++head)
        ranges.push_back(range_of(problem, sequence, row, head));
  return ranges;
}

TEST_CASE("scores lie within their bound, which lies within the domain") {
  double largest = 0.0;
  double largest_ratio = 0.0;
  for (const CaseSpec& spec : many_cases()) {
    double score = 0.0;
    for (const ScoreRange& range : ranges_of(spec)) score = std::max(score, range.farthest());
    CAPTURE(spec);
    // Allows for fp64 rounding: an outlier's score equals its bound.
    REQUIRE(score <= score_bound(spec) * (1 + 0x1p-40));
    REQUIRE(score_bound(spec) <= kScoreLimit);
    largest = std::max(largest, score);
    largest_ratio = std::max(largest_ratio, score / score_bound(spec));
  }
  // Both limits are reached.
  CHECK(largest > 9990.0);
  CHECK(largest_ratio > 0.99);
}

// How many cases have a row that sees keys and whose scores are all in [lowest, highest].
int count_rows_within(double lowest, double highest) {
  const auto is_within = [&](const ScoreRange& range) {
    return !range.is_empty() && range.lowest >= lowest && range.highest <= highest;
  };
  return static_cast<int>(std::ranges::count_if(many_cases(), [&](const CaseSpec& spec) {
    return std::ranges::any_of(ranges_of(spec), is_within);
  }));
}

TEST_CASE("some rows have only scores near the lowest, or near the highest, that are allowed") {
  CHECK(count_rows_within(-kScoreLimit, -9000.0) > kCases / 20);
  CHECK(count_rows_within(-3000.0, -2000.0) > kCases / 100);
  CHECK(count_rows_within(9000.0, kScoreLimit) > kCases / 100);
  const auto count_if = [](auto predicate) {
    return std::ranges::count_if(many_cases(), predicate);
  };
  CHECK(count_if([](const CaseSpec& spec) { return spec.options.sinks == SinkFamily::kLowest; }) >
        kCases / 50);
  CHECK(count_if([](const CaseSpec& spec) {
          return spec.q == FloatFamily::kOutlierDim && spec.options.alibi != AlibiFamily::kNone;
        }) > kCases / 100);
}

TEST_CASE("for every seed, some of 64 cases lie below a running maximum that begins at -5000") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    RandomStream stream(seed);
    int below = 0;
    for (int i = 0; i < 64; ++i) {
      const std::vector<ScoreRange> ranges = ranges_of(draw_case(stream, CaseDomain{}));
      // A score lower than the maximum by more than 104 has a weight of 0 in fp32.
      below += std::ranges::any_of(ranges, [](const ScoreRange& range) {
        return !range.is_empty() && range.highest < -5104.0;
      });
    }
    CAPTURE(seed);
    CHECK(below > 0);
  }
}

TEST_CASE("more than one case in eight has a negative scale, unless the domain excludes them") {
  const auto has_negative_scale = [](const CaseSpec& spec) { return spec.options.scale < 0; };
  CHECK(std::ranges::count_if(many_cases(), has_negative_scale) > kCases / 8);
  RandomStream stream(2026);
  CaseDomain domain;
  domain.has_negative_scale = false;
  for (int i = 0; i < kCases; ++i) CHECK_FALSE(has_negative_scale(draw_case(stream, domain)));
}

}  // namespace
}  // namespace recto::verify
