// The kernels that share keys among query rows (key_stream.cuh): GQA decode, in splits and without,
// row by row and in whole blocks, and prefill, on the executor. Drawn cases against the oracle and
// every law, in every instantiated configuration, for all behaviours of tensor cores and fast
// functions that CUDA allows. RECTO_CASE=SET:NUMBER tries one case of one of the sets decode,
// prefill, decode-laws, block-laws and prefill-laws.

#include <algorithm>
#include <bit>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/kernels/gqa_decode.h"
#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/paged_prefill.h"
#include "cuda/kernels/tma_decode.h"
#include "verify/cases/case_spec.h"
#include "verify/drawn_cases.h"
#include "verify/kernels/kernel_backends.h"
#include "verify/law.h"
#include "verify/law_runner.h"
#include "verify/laws/laws.h"
#include "verify/laws_over_cases.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kNoSplits = 100000;

// All that is supported, in every layout and block size.
CaseDomain served() {
  CaseDomain domain;
  domain.head_dims = {64, 80, 96, 128, 192, 256};
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  domain.groups = {1, 2, 3, 4, 8, 16, 17};
  domain.block_sizes = {1, 2, 4, 8, 16, 32, 48, 64, 128, 256, 512};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.context_max = 150;
  return domain;
}

CaseDomain decode_domain() {
  CaseDomain domain = served();
  domain.rows = {RowsKind::kDecode};
  return domain;
}

CaseDomain prefill_domain() {
  CaseDomain domain = served();
  domain.num_rows_max = 40;
  return domain;
}

DrawnCases decode_cases() {
  return {.name = "decode", .count = 60, .times_full = 25, .domain = decode_domain()};
}
DrawnCases prefill_cases() {
  return {.name = "prefill", .count = 40, .times_full = 25, .domain = prefill_domain()};
}
DrawnCases decode_law_cases() {
  return {.name = "decode-laws", .count = 5, .times_full = 32, .domain = decode_domain()};
}
// For kernels that fetch whole blocks: a head's slots are contiguous.
void keep_whole_blocks(CaseDomain& domain) {
  domain.layouts = {KvLayout::kHeadMajor};
  for (const Gap slots : {&Gaps::k_slots, &Gaps::v_slots}) std::erase(domain.gaps, slots);
}

DrawnCases block_law_cases() {
  DrawnCases cases = decode_law_cases();
  cases.name = "block-laws";
  keep_whole_blocks(cases.domain);
  cases.domain.head_dims = {64, 128};
  cases.domain.types = {{ElementType::kFp16, ElementType::kFp16},
                        {ElementType::kBf16, ElementType::kBf16}};
  return cases;
}
DrawnCases prefill_law_cases() {
  DrawnCases cases = {
      .name = "prefill-laws", .count = 5, .times_full = 32, .domain = prefill_domain()};
  cases.domain.head_dims = {64, 128};
  cases.domain.context_max = 80;
  cases.domain.num_rows_max = 12;
  return cases;
}

CaseSets of_all(const DrawnCases& tried) {
  return {
      {decode_cases(), prefill_cases(), decode_law_cases(), block_law_cases(), prefill_law_cases()},
      tried};
}

KernelRun run_with(const simt::Arithmetic& arithmetic, simt::SchedulePolicy policy) {
  return {.executor = {.schedule = {.policy = policy, .seed = 7}, .arithmetic = arithmetic}};
}

// To nearest; as an A100 sums; as an H100 does, with functions at their documented error.
const std::vector<std::pair<std::string, simt::Arithmetic>>& arithmetics() {
  using enum simt::MatrixSum;
  static const std::vector<std::pair<std::string, simt::Arithmetic>> kAll = {
      {"to nearest", {}},
      {"truncated in eights", {.matrix_sum = kTruncated, .products_per_step = 8, .extra_bits = 0}},
      {"truncated in sixteens, perturbed",
       {.fast_math = simt::FastMath::kPerturbed, .matrix_sum = kTruncated}}};
  return kAll;
}

TEST_CASE("GQA decode agrees with the oracle, however the hardware rounds") {
  std::vector<Backend> backends;
  for (const auto& [name, arithmetic] : arithmetics()) {
    const KernelRun how = run_with(arithmetic, simt::SchedulePolicy::kReverse);
    for (const std::int64_t split_size : {std::int64_t{40}, kNoSplits}) {
      backends.push_back(gqa_decode_backend(how, split_size));
      backends.back().name += " " + name;
      backends.push_back(tma_decode_backend(how, split_size));
      backends.back().name += " " + name;
    }
  }
  expect_laws_hold({oracle_comparison()}, backends, of_all(decode_cases()));
}

TEST_CASE("prefill agrees with the oracle, however the hardware rounds") {
  std::vector<Backend> backends;
  for (const auto& [name, arithmetic] : arithmetics()) {
    backends.push_back(paged_prefill_backend(run_with(arithmetic, simt::SchedulePolicy::kReverse)));
    backends.back().name += " " + name;
  }
  expect_laws_hold({oracle_comparison()}, backends, of_all(prefill_cases()));
}

TEST_CASE("GQA decode and prefill keep every law") {
  const KernelRun how = run_with({}, simt::SchedulePolicy::kRandomWarp);
  const std::vector<Backend> decode = {gqa_decode_backend(how, 40),
                                       gqa_decode_backend(how, kNoSplits)};
  const Backend bulk = tma_decode_backend(how, 40);
  const Backend prefill = paged_prefill_backend(how);
  // Decode has one row per sequence, so nothing to chunk; prefill has no splits.
  expect_each_law_ran(expect_laws_hold(all_laws(), decode, of_all(decode_law_cases())),
                      {{"chunking", decode[0].name}, {"chunking", decode[1].name}});
  expect_each_law_ran(expect_laws_hold(all_laws(), {bulk}, of_all(block_law_cases())),
                      {{"chunking", bulk.name}});
  expect_each_law_ran(expect_laws_hold(all_laws(), {prefill}, of_all(prefill_law_cases())),
                      {{"split_size", prefill.name}});
}

// Cases with each row's types and head dim, in each layout; all must be tried.
template <typename Params>
void expect_table_right(const kernels::KernelTable<Params>& table, const Backend& backend,
                        const DrawnCases& like) {
  for (const kernels::KernelEntry<Params>& entry : table) {
    for (const KvLayout layout : like.domain.layouts) {
      DrawnCases cases = like;
      cases.domain.types = {{entry.q_type, entry.kv_type}};
      cases.domain.head_dims = {entry.head_dim};
      cases.domain.layouts = {layout};
      const LawReport report = run_laws({oracle_comparison()}, {backend}, drawn_cases(cases, {}),
                                        {.bound_kind = BoundKind::kProbabilistic});
      INFO(backend.name << " of " << drawn_case(cases, 0).description);
      for (const std::string& failure : report.failures) std::cout << failure;
      CHECK(report.passed());
      CHECK(report.counts[0].ran() == static_cast<std::int64_t>(cases.count_here()));
    }
  }
}

std::int64_t most_rows(const DrawnCases& cases) {
  std::int64_t rows = 0;
  for (std::uint64_t number = 0; number < cases.count; ++number) {
    for (const SequenceSpec& sequence : drawn_spec(cases, number).sequences) {
      rows = std::max(rows, sequence.num_rows);
    }
  }
  return rows;
}

// Covers every row of the tables in every layout that it supports, not only random draws.
TEST_CASE("every instantiated kernel is right in every layout that it supports") {
  DrawnCases decode = {
      .name = "instantiated", .count = 1, .times_full = 20, .domain = decode_domain()};
  decode.domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked};
  DrawnCases blocks = decode;
  keep_whole_blocks(blocks.domain);
  DrawnCases prefill = decode;
  prefill.domain.rows = {RowsKind::kChunk};
  prefill.domain.num_rows_max = prefill_domain().num_rows_max;
  prefill.count = 2;
  CHECK(most_rows(prefill) > 8);
  expect_table_right(kernels::gqa_decode_table(), gqa_decode_backend({}, 48), decode);
  expect_table_right(kernels::tma_decode_table(), tma_decode_backend({}, 48), blocks);
  expect_table_right(kernels::paged_prefill_table(), paged_prefill_backend({}), prefill);
  CHECK(kernels::gqa_decode_table().size() == 6 * 7);
  CHECK(kernels::paged_prefill_table().size() == 6 + 6 + 5 * 2);
}

std::vector<std::uint64_t> bits_of(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

// The elements of a row are summed in one order, wherever they are.
TEST_CASE("no bit of a streamed result depends on the layout") {
  for (std::uint64_t number = 0; number < 20; ++number) {
    const DescribedCase drawn = drawn_case(decode_cases(), number);
    for (const Backend& backend : {gqa_decode_backend({}, kNoSplits), paged_prefill_backend({})}) {
      std::vector<reference::AttentionResult> results;
      for (const KvLayout layout :
           {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
        Placement placement = drawn.law_case.placement;
        placement.layout = layout;
        const PlacedProblem placed(drawn.law_case.problem, placement);
        if (backend.why_unsupported(placed.inputs())) continue;
        results.push_back(result_of(backend.call(placed.inputs())));
      }
      INFO(backend.name << ", case " << number);
      for (const auto& result : results) {
        CHECK(bits_of(result.out) == bits_of(results[0].out));
        CHECK(bits_of(result.lse_ln) == bits_of(results[0].lse_ln));
      }
    }
  }
}

void expect_same_bits(const Backend& backend, const reference::AttentionResult& expected,
                      const PagedAttentionInputs& inputs) {
  const reference::AttentionResult seen = result_of(backend.call(inputs));
  CHECK(bits_of(seen.out) == bits_of(expected.out));
  CHECK(bits_of(seen.lse_ln) == bits_of(expected.lse_ln));
}

TEST_CASE("no bit of a result depends on how tiles are fetched") {
  DrawnCases cases = block_law_cases();
  cases.count = 30;
  for (std::uint64_t number = 0; number < cases.count; ++number) {
    const DescribedCase drawn = drawn_case(cases, number);
    const PlacedProblem placed(drawn.law_case.problem, drawn.law_case.placement);
    INFO(drawn.description);
    for (const std::int64_t split_size : {std::int64_t{40}, kNoSplits}) {
      const Backend backend = tma_decode_backend({}, split_size);
      CHECK(backend.why_unsupported(placed.inputs()) == std::nullopt);
      expect_same_bits(backend, result_of(gqa_decode_backend({}, split_size).call(placed.inputs())),
                       placed.inputs());
    }
  }
}

using BackendsWith = std::vector<Backend> (*)(const KernelRun& how);

void expect_one_result(const DrawnCases& cases, BackendsWith backends_with) {
  for (std::uint64_t number = 0; number < cases.count; ++number) {
    const DescribedCase drawn = drawn_case(cases, number);
    const PlacedProblem placed(drawn.law_case.problem, drawn.law_case.placement);
    std::vector<reference::AttentionResult> expected;
    for (const Backend& backend : backends_with({})) {
      expected.push_back(result_of(backend.call(placed.inputs())));
    }
    for (const simt::SchedulePolicy policy : simt::kSchedulePolicies) {
      for (std::uint64_t seed = 0; seed < 16; ++seed) {
        const unsigned os_threads = 1 + seed % 2;
        INFO(simt::schedule_policy_name(policy) << ", seed " << seed << ", " << os_threads);
        const std::vector<Backend> backends = backends_with(
            {.executor = {.schedule = {.policy = policy, .seed = seed}, .os_threads = os_threads}});
        for (std::size_t i = 0; i < backends.size(); ++i) {
          expect_same_bits(backends[i], expected[i], placed.inputs());
        }
      }
    }
  }
}

TEST_CASE("no bit of a result depends on the schedule") {
  DrawnCases cases = {.name = "schedules", .count = 4, .domain = decode_domain()};
  cases.domain.head_dims = {64, 128};
  expect_one_result(cases, [](const KernelRun& how) {
    return std::vector{gqa_decode_backend(how, 40), paged_prefill_backend(how)};
  });
  cases = {.name = "schedules", .count = 2, .domain = block_law_cases().domain};
  expect_one_result(cases,
                    [](const KernelRun& how) { return std::vector{tma_decode_backend(how, 40)}; });
}

}  // namespace
}  // namespace recto::verify
