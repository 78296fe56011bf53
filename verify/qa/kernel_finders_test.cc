// Find mutants of the attention kernels and of the host API without knowing any: drawn cases
// against the oracle while every access is checked, the laws, and bank conflicts, of which no
// result tells. Kernels without a mutant pass.

#include <array>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/drawn_cases.h"
#include "verify/kernels/checked_kernel_run.h"
#include "verify/kernels/group_scores.h"
#include "verify/kernels/host_api/host_api_backends.h"
#include "verify/kernels/kernel_backends.h"
#include "verify/kernels/kernel_traffic.h"
#include "verify/law.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

using enum ElementType;

// Accesses of one thread block. The longest of these cases needs a fiftieth.
constexpr std::uint64_t kAccessesMax = 20'000'000;

KernelRun checked(const simt::Schedule& schedule) {
  return {.executor = {.schedule = schedule, .switches_max = kAccessesMax},
          .observer = [](const simt::DeviceMemory& memory) {
            return std::make_shared<simt::AccessChecker>(
                memory, simt::AccessCheckerOptions{.accesses_max = kAccessesMax});
          }};
}
KernelRun reversed() { return checked(kCheckedSchedules[0]); }

// Returns the number of cases to which the law applied.
std::int64_t expect_holds(const Law& law, const std::vector<Backend>& backends,
                          const DrawnCases& cases) {
  std::int64_t held = 0;
  for (std::uint64_t number = 0; number < cases.count; ++number) {
    const DescribedCase drawn = drawn_case(cases, number);
    for (const Backend& backend : backends) {
      const LawVerdict verdict =
          verdict_of(law, backend, drawn.law_case, BoundKind::kProbabilistic);
      if (verdict.failed()) {
        FAIL(law.name << " on " << backend.name << ": " << verdict.heading() << '\n'
                      << verdict.details());
      }
      held += verdict.skipped ? 0 : 1;
    }
  }
  return held;
}

CaseDomain decode_domain() {
  CaseDomain domain;
  domain.rows = {RowsKind::kDecode};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.groups = {1, 2, 3};
  domain.context_max = 150;
  domain.head_dims = {3, 8, 20, 64, 130};
  return domain;
}

// Whose rows go through 16 bytes at a time.
CaseDomain streamed_domain() {
  CaseDomain domain = decode_domain();
  domain.head_dims = {64, 80, 128};
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  domain.groups = {1, 3, 17};
  return domain;
}

// Whose tiles are fetched whole (tile_fetch.cuh), several of one block, by each warp.
CaseDomain tile_domain() {
  CaseDomain domain = streamed_domain();
  domain.types = {{kFp16, kFp16}, {kBf16, kBf16}, {kFp16, kE4m3}, {kBf16, kE5m2}};
  domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor};
  domain.block_sizes = {16, 32, 48};
  domain.groups = {1, 3};
  domain.num_seqs_max = 2;
  domain.context_max = 300;
  domain.has_softcap = domain.has_alibi = domain.has_negative_scale = false;
  return domain;
}

CaseDomain block_domain() {
  CaseDomain domain = streamed_domain();
  domain.types = {{kFp16, kFp16}, {kBf16, kBf16}};
  domain.layouts = {KvLayout::kHeadMajor};
  domain.head_dims = {64, 128};
  return domain;
}

CaseDomain prefill_domain() {
  CaseDomain domain = streamed_domain();
  domain.rows = {RowsKind::kChunk, RowsKind::kPrefill, RowsKind::kMixed};
  domain.groups = {1, 3, 8};
  domain.num_rows_max = 40;
  return domain;
}

// Cases of several tiles, of 128 rows and of 64 keys (paged_prefill_wide.cuh).
CaseDomain wide_domain() {
  CaseDomain domain = prefill_domain();
  domain.types = {{kFp16, kFp16}, {kBf16, kBf16}};
  domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor};
  domain.block_sizes = {16, 32, 48};
  domain.head_dims = {64, 128};
  domain.groups = {1, 3};
  domain.num_seqs_max = 2;
  domain.num_rows_max = 60;
  domain.has_softcap = domain.has_alibi = domain.has_negative_scale = false;
  return domain;
}

CaseDomain any_call() {
  CaseDomain domain = prefill_domain();
  domain.rows.push_back(RowsKind::kDecode);
  domain.head_dims = {32, 64, 128};
  return domain;
}

// Backends and what they are tried on.
struct Family {
  std::string name;
  CaseDomain domain;
  std::vector<Backend> (*backends)(const KernelRun& how);
};

PlanOptions with_kernel(AttentionKernel kernel, std::optional<std::int64_t> split_size) {
  PlanOptions options;
  options.kernel = kernel;
  options.split_size = split_size;
  return options;
}

PlanOptions batch_invariant() {
  PlanOptions options;
  options.batch_invariance = BatchInvariance::kRows;
  options.max_context_length = 8192;
  return options;
}

const std::array<Family, 7>& families() {
  static const std::array<Family, 7> kFamilies = {{
      {"reference decode", decode_domain(),
       [](const KernelRun& how) {
         return std::vector{split_decode_backend(how, 40), reference_decode_backend(how)};
       }},
      {"GQA decode", streamed_domain(),
       [](const KernelRun& how) {
         return std::vector{gqa_decode_backend(how, 40), gqa_decode_backend(how, 100000)};
       }},
      {"TMA decode", block_domain(),
       [](const KernelRun& how) {
         return std::vector{tma_decode_backend(how, 40), tma_decode_backend(how, 100000)};
       }},
      {"prefill", prefill_domain(),
       [](const KernelRun& how) { return std::vector{paged_prefill_backend(how)}; }},
      {"host API", any_call(),
       [](const KernelRun& how) {
         return std::vector{
             host_api_backend(how, {}),
             host_api_step_backend(how, {}),
             host_api_backend(how, with_kernel(AttentionKernel::kReferenceDecode, 40)),
             host_api_backend(how, with_kernel(AttentionKernel::kGqaDecode, {})),
             host_api_backend(how, with_kernel(AttentionKernel::kTmaDecode, 64)),
             host_api_backend(how, batch_invariant())};
       }},
      {"GQA decode, whole tiles", tile_domain(),
       [](const KernelRun& how) {
         return std::vector{gqa_decode_backend(how, 40), gqa_decode_backend(how, 100000)};
       }},
      {"wide prefill", wide_domain(),
       [](const KernelRun& how) { return std::vector{paged_prefill_backend(how)}; }},
  }};
  return kFamilies;
}

void expect_oracle_holds(std::uint64_t count, const KernelRun& how) {
  for (const Family& family : families()) {
    const DrawnCases cases = {.name = family.name, .count = count, .domain = family.domain};
    CHECK(expect_holds(oracle_comparison(), family.backends(how), cases) > 0);
  }
}

// All that the kernel of scores serves.
CaseDomain scored_domain() {
  CaseDomain domain = decode_domain();
  domain.types = {{kFp16, kFp16}, {kBf16, kBf16}};
  domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor};
  domain.head_dims = {16, 48, 80, 128};
  domain.groups = {1, 3, 8, 16};
  domain.has_softcap = domain.has_window = domain.has_alibi = domain.has_sinks = false;
  return domain;
}

TEST_CASE("finder: scores, every access checked") {
  const KernelRun how = reversed();
  const DrawnCases cases = {.name = "scores", .count = 12, .domain = scored_domain()};
  for (std::uint64_t number = 0; number < cases.count; ++number) {
    const CaseSpec spec = drawn_spec(cases, number);
    const PlacedProblem placed(make_problem(spec), spec.placement);
    simt::Executor executor(how.executor);
    ScoreResults scores(placed.inputs());
    call_group_scores(executor, how.observer, kernels::launch_group_scores, placed.inputs(),
                      scores);
    const Comparison comparison = compare_scores(placed.inputs(), scores, {});
    INFO(comparison.text());
    CHECK(comparison.passed());
  }
}

TEST_CASE("finder: oracle, a few cases") { expect_oracle_holds(6, reversed()); }

TEST_CASE("finder: oracle, more cases") { expect_oracle_holds(60, reversed()); }

TEST_CASE("finder: oracle, preempted") { expect_oracle_holds(20, checked(kCheckedSchedules[2])); }

// Tiles of queries that no row is missing of, and no more of them than there are.
TEST_CASE("finder: oracle, groups of whole tiles") {
  DrawnCases cases = {.name = "whole tiles", .count = 4, .domain = streamed_domain()};
  cases.domain.groups = {16, 32};
  CHECK(expect_holds(oracle_comparison(), families()[1].backends(reversed()), cases) > 0);
}

void expect_laws_hold_of(std::size_t number) {
  const Family& family = families()[number];
  DrawnCases cases = {.name = family.name + ", laws", .count = 6, .domain = family.domain};
  cases.domain.context_max = 80;
  cases.domain.num_rows_max = 12;
  std::size_t put = 0;
  for (const Law& law : all_laws()) {
    std::vector<Backend> backends = family.backends(reversed());
    backends.resize(1);
    put += expect_holds(law, backends, cases) > 0 ? 1U : 0U;
  }
  CHECK(put + 4 >= all_laws().size());  // a kernel has no chunks, or no merge, or no splits
}

TEST_CASE("finder: laws of reference decode") { expect_laws_hold_of(0); }
TEST_CASE("finder: laws of GQA decode") { expect_laws_hold_of(1); }
TEST_CASE("finder: laws of TMA decode") { expect_laws_hold_of(2); }
TEST_CASE("finder: laws of prefill") { expect_laws_hold_of(3); }
TEST_CASE("finder: laws of the host API") { expect_laws_hold_of(4); }

// kernel_traffic_test has every instantiation, and counts bytes as well, for which that program
// lays out its heap otherwise than a program may that looks at accesses.
TEST_CASE("finder: no warp waits for a bank") {
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    for (const ElementType kv_type : {ElementType::kBf16, ElementType::kE4m3}) {
      for (const std::int64_t head_dim : {64, 128}) {
        TrafficShape shape = {.context_length = 128, .head_dim = head_dim};
        shape.kv_type = kv_type;
        shape.layout = layout;
        CHECK(counted_traffic(TrafficKernel::kGqaDecode, shape).bank_conflicts == 0);
        shape.rows_per_seq = 16;
        CHECK(counted_traffic(TrafficKernel::kPagedPrefill, shape).bank_conflicts == 0);
      }
    }
  }
}

}  // namespace
}  // namespace recto::verify
