// A bias of slope times distance is an ordinary product: it may come from ALiBi, or from the last
// dim of q and k, where q has slope / scale and k the distance. So this law detects a wrong sign of
// the bias; a law with ALiBi on both sides would not.
//
// The slope is scale times a power of two, and k's distances are integers that its type holds, so
// both are exact. One row of each sequence remains, and as many keys as the type has such integers.

#include <algorithm>
#include <cmath>

#include "core/contract.h"
#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"
#include "verify/laws/problem_geometry.h"

namespace recto::verify {
namespace {

constexpr double kWantedBias = 24.0;  // of the farthest key

// The type holds all integers up to the result.
std::int64_t largest_exact_distance(ElementType type) {
  switch (type) {
    case ElementType::kFp32:
      return std::int64_t{1} << 24;
    case ElementType::kFp16:
      return 1 << 11;
    case ElementType::kBf16:
      return 1 << 8;
    case ElementType::kE4m3:
      return 1 << 4;
    case ElementType::kE5m2:
      return 1 << 3;
  }
  RECTO_UNREACHABLE("all element types are listed");
}

std::vector<float> tail_of(const std::vector<float>& values, std::int64_t rows,
                           std::int64_t width) {
  return {values.end() - rows * width, values.end()};
}

// Keeps each sequence's last row and last keys, whose last dim is the distance from that row.
LawCase with_distances(LawCase law_case) {
  const ProblemShape& shape = law_case.problem.shape;
  law_case.problem.k_scales.clear();
  for (SequenceProblem& sequence : law_case.problem.sequences) {
    sequence.num_rows = std::min<std::int64_t>(sequence.num_rows, 1);
    sequence.context_length =
        std::min(sequence.context_length, largest_exact_distance(shape.kv_type) + 1);
    const std::int64_t keys = sequence.context_length;
    sequence.q = tail_of(sequence.q, sequence.num_rows, shape.num_q_heads * shape.head_dim_k);
    sequence.k = tail_of(sequence.k, keys, shape.num_kv_heads * shape.head_dim_k);
    sequence.v = tail_of(sequence.v, keys, shape.num_kv_heads * shape.head_dim_v);
    for (std::int64_t row = 0; row < keys * shape.num_kv_heads; ++row) {
      const std::int64_t distance = row / shape.num_kv_heads - (keys - 1);
      sequence.k[static_cast<std::size_t>((row + 1) * shape.head_dim_k - 1)] =
          static_cast<float>(distance);
    }
  }
  return law_case;
}

// q's last dim for each head: powers of two of either sign, normal in every type of q.
std::vector<float> query_factors(const AttentionProblem& problem) {
  constexpr int kSmallestExponent = -14;
  constexpr int kLargestExponent = 15;
  const auto farthest =
      static_cast<double>(std::max<std::int64_t>(1, longest_context(problem) - 1));
  const int wanted = std::ilogb(kWantedBias / (farthest * std::abs(problem.options.scale)));
  std::vector<float> factors;
  for (std::int64_t h = 0; h < problem.shape.num_q_heads; ++h) {
    const int exponent =
        std::clamp(wanted - static_cast<int>(h % 3), kSmallestExponent, kLargestExponent);
    factors.push_back(std::ldexp(h % 2 == 0 ? 1.0F : -1.0F, exponent));
  }
  return factors;
}

LawCase with_query_factors(LawCase law_case, const std::vector<float>& factors) {
  const std::int64_t head_dim = law_case.problem.shape.head_dim_k;
  for (SequenceProblem& sequence : law_case.problem.sequences)
    for (std::size_t i = 0; i < sequence.q.size() / static_cast<std::size_t>(head_dim); ++i)
      sequence.q[(i + 1) * static_cast<std::size_t>(head_dim) - 1] = factors[i % factors.size()];
  return law_case;
}

std::optional<std::string> why_not_applicable(const LawCase& law_case) {
  if (law_case.problem.options.softcap > 0) return "a soft cap comes before the bias";
  return std::nullopt;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  const LawCase distances = with_distances(law_case);
  const std::vector<float> factors = query_factors(distances.problem);
  LawCase biased = with_query_factors(distances, std::vector<float>(factors.size(), 0.0F));
  biased.problem.options.alibi_slopes.clear();
  for (const float factor : factors)
    biased.problem.options.alibi_slopes.push_back(factor * biased.problem.options.scale);
  LawCase plain = with_query_factors(distances, factors);
  plain.problem.options.alibi_slopes.clear();
  LawTrial trial(backend, bound_kind);
  trial.compare_within_bounds(biased, {{"the bias in the last dim of q and k", plain}});
  return trial.verdict();
}

}  // namespace

Law alibi_as_scores_law() {
  return {.name = "alibi_as_scores",
          .statement = "a bias by distance is the same from ALiBi and from q.k",
          .why_not_applicable = why_not_applicable,
          .check = check};
}

}  // namespace recto::verify
