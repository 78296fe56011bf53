#pragma once

// For tests of the host API's choices: its plan and launches for a call. Results are verified too.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/attention_plan.h"
#include "reference/error_bound.h"
#include "verify/cases/case_spec.h"
#include "verify/cases/placed_problem.h"
#include "verify/comparison.h"
#include "verify/kernels/host_api/host_api_backends.h"
#include "verify/kernels/launch_recorder.h"

namespace recto::verify {

// A sequence with this context length and one query row, in fp16.
inline CaseSpec spec_of(std::int64_t context_length) {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 2,
                .num_kv_heads = 1,
                .head_dim_k = 64,
                .head_dim_v = 64,
                .q_type = ElementType::kFp16,
                .kv_type = ElementType::kFp16};
  spec.options.scale = 0.25F;
  spec.sequences = {{.num_rows = 1, .context_length = context_length}};
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.placement = {.layout = KvLayout::kHeadMajor, .block_size = 16};
  return spec;
}

inline CaseSpec spec_of(std::int64_t num_seqs, std::int64_t context_length) {
  CaseSpec spec = spec_of(context_length);
  for (std::int64_t s = 1; s < num_seqs; ++s) {
    spec.sequences.push_back(
        {.num_rows = 1, .context_length = context_length, .id = static_cast<std::uint64_t>(s)});
  }
  return spec;
}

inline std::string text_of(const AttentionPlan& plan) {
  if (plan.kernel == AttentionKernel::kPrefill) return "prefill";
  return fmt::format("{}, {} splits of {}", attention_kernel_name(plan.kernel), plan.num_splits,
                     plan.split_size);
}

// What was planned, and then launched.
struct Chosen {
  std::string plan;
  std::string launches;

  friend bool operator==(const Chosen&, const Chosen&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Chosen& chosen) {
    return out << chosen.plan << ": " << chosen.launches;
  }
};

// Returns what was chosen, and checks that the results are right. The backend raises the plan's
// limits to the contexts and rows of the inputs.
inline Chosen choose(const PagedAttentionInputs& inputs, const PlanOptions& options) {
  std::vector<RecordedLaunch> launches;
  const Backend backend = host_api_backend(recorded_run(launches), options);
  const reference::BoundedResult oracle =
      reference::bounded_attention(inputs, backend.numerics(inputs));
  const Comparison comparison =
      compare(inputs, result_of(backend.call(inputs)), oracle.exact, oracle.probabilistic);
  INFO(comparison.text());
  CHECK(comparison.passed());
  PlanOptions longest = options;
  longest.max_context_length = std::max<std::int64_t>(longest.max_context_length, 1);
  for (std::size_t s = 0; s < inputs.context_length.size(); ++s) {
    longest.max_context_length =
        std::max<std::int64_t>(longest.max_context_length, inputs.context_length[s]);
    longest.max_query_length = std::max<std::int64_t>(
        longest.max_query_length, inputs.query_start[s + 1] - inputs.query_start[s]);
  }
  return {text_of(plan_attention(inputs, longest).value()), text_of(launches)};
}

inline Chosen choose(const CaseSpec& spec, const PlanOptions& options) {
  REQUIRE(check_case(spec) == Status::ok());
  return choose(PlacedProblem(make_problem(spec), spec.placement).inputs(), options);
}

}  // namespace recto::verify
