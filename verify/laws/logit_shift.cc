// Adding a constant to all scores does not change their softmax. The last dim of q and k adds it
// exactly: 1 in every key, 0 or the constant in every query. (An additional dim would fit neither
// the packed layout nor the head dims that kernels are built for.)

#include <algorithm>
#include <cmath>

#include "verify/laws/laws.h"
#include "verify/laws/problem_geometry.h"
#include "verify/laws/shifted_sinks.h"

namespace recto::verify {
namespace {

// exp() of fp32 overflows, or becomes 0, with such a shift unless the maximum is subtracted first.
constexpr double kWantedShift = 128.0;

void fill_last_dim(std::vector<float>& values, std::int64_t head_dim, float value) {
  for (auto end = static_cast<std::size_t>(head_dim); end <= values.size();
       end += static_cast<std::size_t>(head_dim))
    values[end - 1] = value;
}

// q's last dim: a power of two that shifts scores by about kWantedShift, normal in every type of q.
float query_constant(const AttentionProblem& problem) {
  constexpr double kSmallestExponent = -14.0;
  constexpr double kLargestExponent = 15.0;
  double key_scale = scale_of_head(problem.k_scales, 0);
  for (const float scale : problem.k_scales) key_scale = std::max<double>(key_scale, scale);
  const double wanted = std::log2(kWantedShift / std::abs(problem.options.scale * key_scale));
  return std::exp2(
      static_cast<float>(std::clamp(std::round(wanted), kSmallestExponent, kLargestExponent)));
}

LawCase with_constant(LawCase law_case, float constant) {
  const std::int64_t head_dim = law_case.problem.shape.head_dim_k;
  for (SequenceProblem& sequence : law_case.problem.sequences) {
    fill_last_dim(sequence.q, head_dim, constant);
    fill_last_dim(sequence.k, head_dim, 1.0F);
  }
  return law_case;
}

// Exact: a power of two times two numbers of 24 bits.
std::vector<double> shifts_of(const AttentionProblem& problem, float constant) {
  std::vector<double> shifts;
  for (std::int64_t h = 0; h < problem.shape.num_q_heads; ++h)
    shifts.push_back(static_cast<double>(constant) * problem.options.scale *
                     scale_of_head(problem.k_scales, h / problem.shape.group()));
  return shifts;
}

std::optional<std::string> why_not_applicable(const LawCase& law_case) {
  if (law_case.problem.options.softcap > 0) return "a soft cap is not linear";
  return std::nullopt;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  const std::optional<LawSide> base = trial.run(with_constant(law_case, 0.0F));
  if (!base) return trial.verdict();
  const reference::AttentionResult base_bound = trial.bound_of(*base);
  const float largest = query_constant(law_case.problem);
  for (const float constant : {largest, -largest}) {
    const std::vector<double> shifts = shifts_of(law_case.problem, constant);
    const ShiftedSinks sinks = shift_sinks(law_case.problem.options.sinks, shifts);
    LawCase shifted = with_constant(law_case, constant);
    shifted.problem.options.sinks = sinks.sinks;
    const char* what = constant > 0 ? "scores shifted up" : "scores shifted down";
    const std::optional<LawSide> side = trial.run(shifted, what);
    if (!side) continue;
    const ShiftedExpectation expectation = expect_shifted(
        base->seen, sum_of(trial.bound_of(*side), base_bound), shifts, sinks.residual);
    trial.record(what,
                 compare(side->inputs(), side->seen, expectation.expected, expectation.bound));
  }
  return trial.verdict();
}

}  // namespace

Law logit_shift_law() {
  return {.name = "logit_shift",
          .statement =
              "a constant added to all scores, and to the sink, is added to lse and leaves out "
              "unchanged",
          .why_not_applicable = why_not_applicable,
          .check = check};
}

}  // namespace recto::verify
