// Scores by tensor cores: within their bounds of the fp64 reference, however the cores round; the
// same bits whatever the schedule, and whatever no context addresses; and what is refused.

#include "verify/group_scores.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/generators/case_generator.h"
#include "verify/placed_problem.h"

namespace recto::verify {
namespace {

using kernels::GroupScoresParams;

// To nearest, and truncated in steps of 4 (V100), 8 (A100) and 16 terms (H100), the coarsest of
// each and one that keeps more bits.
constexpr simt::Arithmetic kArithmetics[] = {
    {.matrix_sum = simt::MatrixSum::kNearest},
    {.matrix_sum = simt::MatrixSum::kTruncated, .products_per_step = 4, .extra_bits = 0},
    {.matrix_sum = simt::MatrixSum::kTruncated, .products_per_step = 8, .extra_bits = 1},
    {.matrix_sum = simt::MatrixSum::kTruncated, .products_per_step = 16, .extra_bits = 0},
    {.matrix_sum = simt::MatrixSum::kTruncated, .products_per_step = 16, .extra_bits = 2},
};

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

// All that the kernel serves. (Tiles have 16 keys, all warps together take 64.)
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

// One KV head, and contexts about all that the kernel counts in: tiles, rounds of tiles, blocks.
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

TEST_CASE("scores are within their bounds of the fp64 result, however tensor cores round") {
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
      const Comparison comparison = compare_scores(
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
  // A bound that nothing comes near would see little.
  CHECK(all.worst_ratio > 0.1);
}

TEST_CASE("contexts about tiles, rounds and blocks, for every group that is served") {
  for (std::int64_t group = 1; group <= kernels::kGroupMax; ++group) {
    for (const std::int64_t block_size : {1, 16, 48}) {
      for (const TypePair types : {kFp16, kBf16}) {
        INFO("group " << group << ", blocks of " << block_size);
        const CaseSpec spec = edges(types, group, block_size);
        const PlacedProblem placed(make_problem(spec), spec.placement);
        const Comparison comparison =
            compare_scores(placed.inputs(), scores_of({}, placed.inputs()), {});
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

TEST_CASE("no bit of a score depends on where blocks lie, or on what no context addresses") {
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

// The most that is served: sixteen heads, 256 dims. Launched with a change, it says what is wrong
// and writes nothing, or writes.
class Launch {
 public:
  using Change = std::function<void(GroupScoresParams&)>;

  std::string operator()(const Change& change) const {
    ScoreResults results(placed_.inputs());
    const PagedAttentionInputs& inputs = placed_.inputs();
    GroupScoresParams params = {.q = inputs.q,
                                .k = inputs.kv.k,
                                .block_table = inputs.block_table,
                                .context_length = inputs.context_length.data(),
                                .max_context_length = results.max_context_length,
                                .scores = results.scores.data()};
    change(params);
    simt::Executor executor({});
    simt::Stream stream(executor);
    const Status launched = kernels::launch_group_scores(params, &stream);
    REQUIRE(stream.synchronise().passed());
    const bool has_written =
        std::ranges::any_of(results.scores, [](float score) { return !std::isnan(score); });
    CHECK(has_written == launched.is_ok());
    return launched.is_ok() ? "served" : launched.message();
  }

 private:
  static CaseSpec largest() {
    CaseSpec spec = edges(kFp16, kernels::kGroupMax, 16);
    spec.shape.head_dim_k = 256;
    spec.sequences = {{.context_length = 20}};
    return spec;
  }

  PlacedProblem placed_{make_problem(largest()), largest().placement};
};

TEST_CASE("what is not served is refused by name, before anything is written") {
  const Launch launch;
  CHECK(launch([](GroupScoresParams&) {}) == "served");
  CHECK(launch([](auto& params) { params.q.type = params.k.type = ElementType::kFp32; }) ==
        "q.type: expected fp16 or bf16, got fp32");
  CHECK(launch([](auto& params) { params.q.type = ElementType::kE4m3; }) ==
        "q.type: expected fp16 or bf16, got e4m3");
  CHECK(launch([](auto& params) { params.k.type = ElementType::kBf16; }) ==
        "k.type: expected fp16 as in q.type, got bf16");
  CHECK(launch([](auto& params) { params.q.type = params.k.type = ElementType::kBf16; }) ==
        "served");
  CHECK(launch([](auto& params) { params.k.layout = KvLayout::kPacked; }) ==
        "k.layout: expected token-major or head-major, got packed");
  for (const std::int64_t head_dim : {8, 40, 255, 272}) {
    CHECK(launch([&](auto& params) { params.q.head_dim = params.k.head_dim = head_dim; }) ==
          "k.head_dim: expected a multiple of 16, at most 256, got " + std::to_string(head_dim));
  }
  for (const std::int64_t head_dim : {16, 48, 240}) {
    CHECK(launch([&](auto& params) { params.q.head_dim = params.k.head_dim = head_dim; }) ==
          "served");
  }
  CHECK(launch([](auto& params) { params.q.num_heads = 17; }) ==
        "q.num_heads: expected at most 16, got 17");
}

TEST_CASE("rows of queries and of keys must begin at multiples of 16 bytes") {
  const Launch launch;
  const std::string at = ".data: expected an address at a multiple of 16 bytes, got ";
  const std::string by = ": expected a multiple of 8, of 16 bytes, got ";
  const auto shifted = [](const void* data, std::int64_t bytes) -> const void* {
    return static_cast<const std::byte*>(data) + bytes;
  };
  // Of fewer dims, so that what is aligned again stays within the row.
  const auto with = [&](const Launch::Change& change) {
    return launch([&](GroupScoresParams& params) {
      params.q.head_dim = params.k.head_dim = 128;
      change(params);
    });
  };
  CHECK(with([&](auto& params) { params.q.data = shifted(params.q.data, 8); }) ==
        "q" + at + "8 bytes behind one");
  CHECK(with([&](auto& params) { params.q.data = shifted(params.q.data, 16); }) == "served");
  CHECK(with([](auto& params) { params.q.row_stride -= 4; }) == "q.row_stride" + by + "4092");
  CHECK(with([](auto& params) { params.q.head_stride -= 4; }) == "q.head_stride" + by + "252");
  CHECK(with([](auto& params) { params.q.head_stride -= 8; }) == "served");
  CHECK(with([&](auto& params) { params.k.data = shifted(params.k.data, 2); }) ==
        "k" + at + "2 bytes behind one");
  CHECK(with([&](auto& params) { params.k.data = shifted(params.k.data, 16); }) == "served");
  CHECK(with([](auto& params) { params.k.block_stride -= 4; }) == "k.block_stride" + by + "4092");
  CHECK(with([](auto& params) { params.k.head_stride -= 4; }) == "k.head_stride" + by + "252");
  CHECK(with([](auto& params) { params.k.slot_stride -= 4; }) == "k.slot_stride" + by + "252");
  CHECK(with([](auto& params) { params.k.slot_stride -= 8; }) == "served");
}

TEST_CASE("without sequences nothing is launched") {
  const GroupScoresParams none = {
      .q = {.type = ElementType::kFp16, .num_heads = 1, .head_dim = 16},
      .k = {.type = ElementType::kFp16, .block_size = 1, .num_kv_heads = 1, .head_dim = 16}};
  simt::Executor executor({});
  simt::Stream stream(executor);
  CHECK(kernels::launch_group_scores(none, &stream) == Status::ok());
  CHECK(stream.synchronise().passed());
}

}  // namespace
}  // namespace recto::verify
