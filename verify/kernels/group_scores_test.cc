// Tensor-core scores: within their bounds of the fp64 reference, for every rounding of tensor
// cores; the same bits for every schedule, and for any contents of unaddressed slots.

#include "verify/kernels/group_scores.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <set>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/cases/case_generator.h"
#include "verify/cases/placed_problem.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {
namespace {

// To nearest, and truncated in steps of 4 (V100), 8 (A100) and 16 terms (H100): the coarsest of
// each, and one that keeps more bits.
constexpr simt::Arithmetic kArithmetics[] = {
    {.matrix_sum = simt::MatrixSum::kNearest},
    {.matrix_sum = simt::MatrixSum::kTruncated, .products_per_step = 4, .extra_bits = 0},
    {.matrix_sum = simt::MatrixSum::kTruncated, .products_per_step = 8, .extra_bits = 1},
    {.matrix_sum = simt::MatrixSum::kTruncated, .products_per_step = 16, .extra_bits = 0},
    {.matrix_sum = simt::MatrixSum::kTruncated, .products_per_step = 16, .extra_bits = 2},
};

// On a GPU, whatever `arithmetic` says, the widest bound of the sums that it may compute (see
// kernel_numerics.cc).
Comparison compare(const PagedAttentionInputs& inputs, const ScoreResults& results,
                   const simt::Arithmetic& arithmetic) {
  constexpr simt::Arithmetic kOfCards = {.matrix_sum = simt::MatrixSum::kTruncated,
                                         .products_per_step = 8};
  return compare_scores(inputs, results, runs_on_gpu() ? kOfCards : arithmetic);
}

ScoreResults scores_of(const simt::ExecutorOptions& options, const PagedAttentionInputs& inputs) {
  simt::Executor executor(options);
  ScoreResults results(inputs);
  call_group_scores(executor, {}, kernels::launch_group_scores, inputs, results);
  return results;
}

std::vector<std::uint32_t> bits_of(const ScoreResults& results) {
  std::vector<std::uint32_t> bits;
  for (const float score : results.scores) bits.push_back(std::bit_cast<std::uint32_t>(score));
  return bits;
}

// All that the kernel supports. (Tiles have 16 keys; all warps together take 64.)
CaseDomain served() {
  CaseDomain domain;
  domain.types = {{ElementType::kFp16, ElementType::kFp16},
                  {ElementType::kBf16, ElementType::kBf16}};
  domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor};
  domain.rows = {RowsKind::kDecode};
  domain.head_dims = {16, 32, 48, 64, 80, 96, 128, 192, 256};
  domain.groups = {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16};
  domain.tile_sizes = {16, 64};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.context_max = 200;
  domain.has_softcap = domain.has_window = domain.has_alibi = domain.has_sinks = false;
  return domain;
}

// One KV head, and contexts around the edges of tiles, rounds of tiles and blocks.
CaseSpec edges(TypePair types, std::int64_t group, std::int64_t block_size) {
  CaseSpec spec;
  spec.shape = {.num_q_heads = group,
                .num_kv_heads = 1,
                .head_dim_k = 32,
                .head_dim_v = 16,
                .q_type = types.q,
                .kv_type = types.kv};
  spec.sequences.clear();
  for (const std::int64_t length : {0, 1, 15, 16, 17, 63, 64, 65, 79, 80, 81, 127, 128, 129, 193}) {
    spec.sequences.push_back(
        {.context_length = length, .id = static_cast<std::uint64_t>(spec.sequences.size())});
  }
  spec.options.scale = 0.125F;
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.placement = {.block_size = block_size};
  return spec;
}

constexpr TypePair kFp16 = {ElementType::kFp16, ElementType::kFp16};
constexpr TypePair kBf16 = {ElementType::kBf16, ElementType::kBf16};

TEST_CASE(
    "scores are within their bounds of the fp64 result under every rounding of tensor cores") {
  constexpr std::uint64_t kCases = 120;
  std::set<std::int64_t> groups;
  std::set<std::int64_t> lengths;
  Comparison all;
  for (std::uint64_t number = 0; number < kCases; ++number) {
    RandomStream stream = RandomStream(2026).split("group scores").split(number);
    const CaseSpec spec = draw_case(stream, served());
    INFO("case " << number << "\n" << spec.text());
    const PlacedProblem placed(make_problem(spec), spec.placement);
    REQUIRE_FALSE(why_not_scored(placed.inputs()).has_value());
    groups.insert(spec.shape.group());
    for (const SequenceSpec& sequence : spec.sequences) lengths.insert(sequence.context_length);
    for (const simt::Arithmetic& arithmetic : kArithmetics) {
      const Comparison comparison = compare(
          placed.inputs(), scores_of({.arithmetic = arithmetic}, placed.inputs()), arithmetic);
      INFO(comparison.text());
      CHECK(comparison.passed());
      all.append(comparison);
    }
  }
  std::cout << "group-scores: " << all.text() << "\n";
  CHECK(groups.size() == served().groups.size());
  CHECK(lengths.contains(0));
  CHECK(lengths.size() > 40);
  CHECK(all.elements > 500'000);
  // The test would be weak if no score came near the bound.
  CHECK(all.worst_ratio > 0.1);
}

TEST_CASE(
    "contexts at edges of tiles, rounds and blocks are right for every group that is served") {
  for (std::int64_t group = 1; group <= kernels::kGroupMax; ++group) {
    for (const std::int64_t block_size : {1, 16, 48}) {
      for (const TypePair types : {kFp16, kBf16}) {
        INFO("group " << group << ", blocks of " << block_size);
        const CaseSpec spec = edges(types, group, block_size);
        const PlacedProblem placed(make_problem(spec), spec.placement);
        const Comparison comparison = compare(placed.inputs(), scores_of({}, placed.inputs()), {});
        INFO(comparison.text());
        CHECK(comparison.passed());
        CHECK(comparison.elements == std::ssize(spec.sequences) * group * 193);
      }
    }
  }
}

TEST_CASE("no bit of a score depends on the schedule") {
  for (const TypePair types : {kFp16, kBf16}) {
    const CaseSpec spec = edges(types, 5, 16);
    const PlacedProblem placed(make_problem(spec), spec.placement);
    const std::vector<std::uint32_t> expected = bits_of(scores_of({}, placed.inputs()));
    for (const simt::SchedulePolicy policy : simt::kSchedulePolicies) {
      for (std::uint64_t seed = 0; seed < 16; ++seed) {
        for (const unsigned os_threads : {1U, 2U}) {
          INFO(simt::schedule_policy_name(policy) << ", seed " << seed << ", " << os_threads);
          CHECK(bits_of(scores_of(
                    {.schedule = {.policy = policy, .seed = seed}, .os_threads = os_threads},
                    placed.inputs())) == expected);
        }
      }
    }
  }
}

TEST_CASE("no bit of a score depends on where blocks lie, or on unaddressed memory") {
  CaseSpec spec = edges(kBf16, 3, 16);
  const AttentionProblem problem = make_problem(spec);
  const auto bits = [&](const Placement& placement) {
    const PlacedProblem placed(problem, placement);
    return bits_of(scores_of({}, placed.inputs()));
  };
  const std::vector<std::uint32_t> expected = bits(plain_placement());
  for (const Poison poison : kPoisons) {
    for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor}) {
      INFO(poison_name(poison) << ", " << kv_layout_name(layout));
      CHECK(bits({.layout = layout,
                  .block_size = 48,
                  .block_padding = 16,
                  .row_padding = 32,
                  .table_padding = 3,
                  .poison = poison,
                  .seed = 7}) == expected);
    }
  }
}

TEST_CASE("a row's bits do not depend on its neighbours in the batch") {
  CaseSpec spec = edges(kFp16, 4, 16);
  const PlacedProblem all(make_problem(spec), spec.placement);
  const ScoreResults together = scores_of({}, all.inputs());
  const std::vector<SequenceSpec> sequences = spec.sequences;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    spec.sequences = {sequences[i]};
    const PlacedProblem one(make_problem(spec), spec.placement);
    const ScoreResults alone = scores_of({}, one.inputs());
    int different = 0;
    for (std::int64_t head = 0; head < 4; ++head) {
      for (std::int64_t key = 0; key < sequences[i].context_length; ++key) {
        const auto row = static_cast<std::int64_t>(i);
        if (alone.at(0, head, key) != together.at(row, head, key)) ++different;
      }
    }
    INFO("a context of " << sequences[i].context_length);
    CHECK(different == 0);
  }
}

}  // namespace
}  // namespace recto::verify
