// The host API on the executor, with its own choice of kernels and with each kernel requested:
// drawn cases against the oracle, and laws. RECTO_CASE=SET:NUMBER tries one case of one of the sets
// calls, steps and laws.

#include <optional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/cases/case_spec.h"
#include "verify/cases/placed_problem.h"
#include "verify/kernels/host_api/host_api_backends.h"
#include "verify/law.h"
#include "verify/laws/laws.h"
#include "verify/laws_over_cases.h"

namespace recto::verify {
namespace {

CaseDomain any_call() {
  CaseDomain domain;
  domain.head_dims = {32, 64, 128};
  domain.groups = {1, 2, 4, 8};
  domain.block_sizes = {1, 8, 16, 32, 48, 256};
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  domain.rows = {RowsKind::kDecode, RowsKind::kDecode, RowsKind::kDecode, RowsKind::kChunk,
                 RowsKind::kMixed};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.num_rows_max = 6;
  domain.context_max = 120;
  return domain;
}
CaseDomain decode_call() {
  CaseDomain domain = any_call();
  domain.rows = {RowsKind::kDecode};
  return domain;
}

DrawnCases calls() { return {.name = "calls", .count = 120, .domain = any_call()}; }
DrawnCases steps() { return {.name = "steps", .count = 80, .domain = decode_call()}; }
DrawnCases law_cases() { return {.name = "laws", .count = 10, .domain = any_call()}; }

CaseSets of_all(const DrawnCases& tried) { return {{calls(), steps(), law_cases()}, tried}; }

const KernelRun kReversed = {.executor = {.schedule = {.policy = simt::SchedulePolicy::kReverse}}};

PlanOptions with_kernel(AttentionKernel kernel) {
  PlanOptions options;
  options.kernel = kernel;
  return options;
}

TEST_CASE(
    "calls agree with the oracle, with the kernel that the rule chooses and with each kernel") {
  PlanOptions splits;
  splits.split_size = 40;
  PlanOptions invariant;
  invariant.batch_invariance = BatchInvariance::kRows;
  // Splits longer than any context.
  invariant.max_context_length = 4096 * 2;
  std::vector<Backend> backends = {host_api_backend(kReversed, {}),
                                   host_api_backend(kReversed, splits),
                                   host_api_backend(kReversed, invariant)};
  backends[1].name += ", splits of 40";
  backends[2].name += ", batch-invariant";
  for (const AttentionKernel kernel :
       {AttentionKernel::kReferenceDecode, AttentionKernel::kGqaDecode, AttentionKernel::kTmaDecode,
        AttentionKernel::kPrefill}) {
    backends.push_back(host_api_backend(kReversed, with_kernel(kernel)));
  }
  expect_laws_hold({oracle_comparison()}, backends, of_all(calls()));
}

TEST_CASE("steps that append agree with the oracle") {
  expect_laws_hold(
      {oracle_comparison()},
      {host_api_step_backend(kReversed, {}),
       host_api_step_backend(kReversed, with_kernel(AttentionKernel::kReferenceDecode))},
      of_all(steps()));
}

TEST_CASE("the host API keeps every law") {
  const std::optional<LawReport> report =
      expect_laws_hold(all_laws(), {host_api_backend(kReversed, {}), host_api_step_backend({}, {})},
                       of_all(law_cases()));
  const std::string call = "host API, by its rule";
  const std::string step = "host API step, by its rule";
  expect_each_law_ran(report, {// It exposes no partial states.
                               {"merge_identity", call},
                               {"merge_identity", step},
                               {"merge_commutativity", call},
                               {"merge_commutativity", step},
                               {"merge_associativity", call},
                               {"merge_associativity", step},
                               // One row a sequence, and that of a token in the cache.
                               {"chunking", step},
                               {"zero_context", step},
                               // Its cache is copied first.
                               {"relocation", step}});
}

}  // namespace
}  // namespace recto::verify
