// Wide prefill (paged_prefill_wide.cuh), which serves the usual caches and options: drawn cases of
// several tiles of rows and of keys against the oracle and every law, and against the kernel that
// serves all others, bit for bit. RECTO_CASE=SET:NUMBER tries one case of one of the sets wide and
// wide-laws.

#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/cases/case_spec.h"
#include "verify/drawn_cases.h"
#include "verify/kernels/device_call.h"
#include "verify/kernels/kernel_backends.h"
#include "verify/kernels/launch_recorder.h"
#include "verify/law.h"
#include "verify/laws/laws.h"
#include "verify/laws_over_cases.h"

namespace recto::verify {
namespace {

using enum ElementType;

CaseDomain wide_domain() {
  CaseDomain domain;
  domain.types = {{kFp16, kFp16}, {kBf16, kBf16}};
  domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor};
  domain.head_dims = {64, 128};
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  domain.groups = {1, 3, 4, 8};
  domain.block_sizes = {16, 32, 48, 64, 80, 128, 512};
  domain.num_seqs_max = 2;
  domain.num_kv_heads_max = 2;
  domain.num_rows_max = 90;
  domain.context_max = 200;
  domain.has_softcap = domain.has_alibi = domain.has_negative_scale = false;
  domain.gaps = {};
  return domain;
}

DrawnCases wide_cases() {
  return {.name = "wide", .count = 12, .times_full = 25, .domain = wide_domain()};
}
DrawnCases wide_law_cases() {
  DrawnCases cases = {.name = "wide-laws", .count = 3, .times_full = 32, .domain = wide_domain()};
  cases.domain.context_max = 100;
  cases.domain.num_rows_max = 20;
  return cases;
}

CaseSets of_all(const DrawnCases& tried) { return {{wide_cases(), wide_law_cases()}, tried}; }

TEST_CASE("wide prefill agrees with the oracle, however the hardware rounds") {
  using enum simt::MatrixSum;
  const std::vector<std::pair<std::string, simt::Arithmetic>> arithmetics = {
      {"to nearest", {}},
      {"truncated in eights", {.matrix_sum = kTruncated, .products_per_step = 8, .extra_bits = 0}},
      {"truncated in sixteens, perturbed",
       {.fast_math = simt::FastMath::kPerturbed, .matrix_sum = kTruncated}}};
  std::vector<Backend> backends;
  for (const auto& [name, arithmetic] : arithmetics) {
    backends.push_back(paged_prefill_backend(
        {.executor = {.schedule = {.policy = simt::SchedulePolicy::kReverse, .seed = 7},
                      .arithmetic = arithmetic}}));
    backends.back().name += " " + name;
  }
  expect_laws_hold({oracle_comparison()}, backends, of_all(wide_cases()));
}

TEST_CASE("wide prefill keeps every law") {
  const Backend backend = paged_prefill_backend(
      {.executor = {.schedule = {.policy = simt::SchedulePolicy::kRandomWarp, .seed = 7}}});
  expect_each_law_ran(expect_laws_hold(all_laws(), {backend}, of_all(wide_law_cases())),
                      {{"split_size", backend.name}});
}

// The bits of out and lse, and the kernel that was launched.
struct Bits {
  std::vector<std::uint64_t> bits;
  std::string kernel;
};

Bits bits_of(const AttentionProblem& problem, const Placement& placement) {
  std::vector<RecordedLaunch> launches;
  const Backend backend = paged_prefill_backend(recorded_run(launches));
  const PlacedProblem placed(problem, placement);
  const reference::AttentionResult result = result_of(backend.call(placed.inputs()));
  Bits seen;
  for (const auto* values : {&result.out, &result.lse_ln}) {
    for (const double value : *values) seen.bits.push_back(std::bit_cast<std::uint64_t>(value));
  }
  for (const RecordedLaunch& launch : launches) {
    if (launch.kernel != "contents_check") seen.kernel += launch.kernel;
  }
  return seen;
}

TEST_CASE("results have the same bits with wide prefill and without") {
  if (runs_on_hopper()) RECTO_SKIP("another kernel with larger tiles serves these calls");
  const DrawnCases cases = wide_cases();
  for (std::uint64_t number = 0; number < cases.count; ++number) {
    const DescribedCase drawn = drawn_case(cases, number);
    INFO(drawn.description);
    const Bits wide = bits_of(drawn.law_case.problem, drawn.law_case.placement);
    if (wide.kernel.empty()) continue;  // no rows
    Placement small_blocks = drawn.law_case.placement;
    small_blocks.block_size = 8;
    Placement packed = drawn.law_case.placement;
    packed.layout = KvLayout::kPacked;
    for (const Placement& placement : {small_blocks, packed}) {
      const Bits other = bits_of(drawn.law_case.problem, placement);
      if (!runs_on_gpu()) {
        CHECK(wide.kernel == "paged_prefill_wide");
        CHECK(other.kernel == "paged_prefill");
      }
      CHECK(wide.bits == other.bits);
    }
  }
}

}  // namespace
}  // namespace recto::verify
