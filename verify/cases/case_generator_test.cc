#include "verify/cases/case_generator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/attention_gate.h"

namespace recto::verify {
namespace {

constexpr int kCases = 10'000;

std::vector<CaseSpec> draw_many(const CaseDomain& domain, int count, std::uint64_t seed = 2026) {
  RandomStream stream(seed);
  std::vector<CaseSpec> specs;
  for (int i = 0; i < count; ++i) specs.push_back(draw_case(stream, domain));
  return specs;
}

const std::vector<CaseSpec>& many_cases() {
  static const std::vector<CaseSpec> kSpecs = draw_many(CaseDomain{}, kCases);
  return kSpecs;
}

// Counts the cases with each value; checks that at least one case in `at_least_one_in` has each of
// `values`.
template <typename Values, typename Projection>
void check_all_appear(const Values& values, const Projection& of, int at_least_one_in) {
  for (const auto& value : values) {
    const auto count = std::ranges::count_if(
        many_cases(), [&](const CaseSpec& spec) { return of(spec) == value; });
    CAPTURE(static_cast<int>(value));
    CHECK(count * at_least_one_in >= kCases);
  }
}

TEST_CASE("each of 10,000 cases is valid, and the stream determines the cases") {
  for (const CaseSpec& spec : many_cases()) {
    CAPTURE(spec);
    REQUIRE(check_case(spec) == Status::ok());
  }
  CHECK(draw_many(CaseDomain{}, 50) ==
        std::vector<CaseSpec>(many_cases().begin(), many_cases().begin() + 50));
  CHECK(draw_many(CaseDomain{}, 50, 7) != draw_many(CaseDomain{}, 50));
}

TEST_CASE("cases and their numbers are the same on every machine") {
  // Bit for bit: a change here changes the meaning of saved seeds.
  std::uint64_t hash = 0;
  const auto add = [&](std::uint64_t word) { hash = mix_bits(std::rotl(hash, 5) ^ word); };
  for (const CaseSpec& spec : draw_many(CaseDomain{}, 200)) {
    add(spec.seed);
    add(spec.placement.seed);
    add(std::bit_cast<std::uint32_t>(spec.options.scale));
    const AttentionProblem problem = make_problem(spec);
    for (const SequenceProblem& sequence : problem.sequences) {
      for (const auto* values : {&sequence.q, &sequence.k, &sequence.v}) {
        for (const float value : *values) add(std::bit_cast<std::uint32_t>(value));
      }
    }
    for (const auto* values : {&problem.options.alibi_slopes, &problem.options.sinks,
                               &problem.k_scales, &problem.v_scales}) {
      for (const float value : *values) add(std::bit_cast<std::uint32_t>(value));
    }
  }
  CHECK(hash == 0xe6462acf0b72c231u);
}

TEST_CASE("both gates accept every placed case") {
  const std::size_t step = is_full_run() ? 1 : 4;
  std::size_t placed_cases = 0;
  for (std::size_t i = 0; i < many_cases().size(); i += step) {
    const CaseSpec& spec = many_cases()[i];
    const PlacedProblem placed(make_problem(spec), spec.placement);
    CAPTURE(spec);
    REQUIRE(check_shapes(placed.inputs()) == Status::ok());
    REQUIRE(check_contents(placed.inputs()) == Status::ok());
    ++placed_cases;
  }
  CHECK(placed_cases == kCases / step);
}

TEST_CASE("every type, layout, family, order and poison appears") {
  for (const TypePair& types : kTypePairs) {
    CAPTURE(types.q, types.kv);
    CHECK(std::ranges::count(many_cases(), types, &CaseSpec::types) > kCases / 20);
  }
  check_all_appear(
      std::vector{KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked},
      [](const CaseSpec& spec) { return spec.placement.layout; }, 6);
  const auto families_but = [](const std::set<FloatFamily>& excluded) {
    std::vector<FloatFamily> families;
    for (const FloatFamily family : kFloatFamilies) {
      if (excluded.count(family) == 0) families.push_back(family);
    }
    return families;
  };
  check_all_appear(
      families_but({FloatFamily::kHugeValues, FloatFamily::kPeakedEnds}),
      [](const CaseSpec& spec) { return spec.k; }, 20);
  check_all_appear(
      families_but(
          {FloatFamily::kHugeValues, FloatFamily::kDominatingKey, FloatFamily::kPeakedEnds}),
      [](const CaseSpec& spec) { return spec.q; }, 20);
  check_all_appear(
      families_but(
          {FloatFamily::kDominatingKey, FloatFamily::kOutlierDim, FloatFamily::kPeakedEnds}),
      [](const CaseSpec& spec) { return spec.v; }, 20);
  check_all_appear(
      kBlockOrders, [](const CaseSpec& spec) { return spec.placement.order; }, 6);
  check_all_appear(
      kPoisons, [](const CaseSpec& spec) { return spec.placement.poison; }, 8);
  check_all_appear(
      kPoisonedTensors, [](const CaseSpec& spec) { return spec.placement.poisoned; }, 12);
  check_all_appear(
      CaseDomain{}.block_sizes, [](const CaseSpec& spec) { return spec.placement.block_size; }, 40);
}

TEST_CASE("every option is on and off") {
  for (const bool on : {true, false}) {
    const std::vector<bool> wanted = {on};
    const auto check = [&](const auto& of) { check_all_appear(wanted, of, 8); };
    check([](const CaseSpec& spec) { return spec.options.softcap > 0; });
    check([](const CaseSpec& spec) { return spec.options.causal; });
    check([](const CaseSpec& spec) { return spec.options.window.has_value(); });
    check([](const CaseSpec& spec) { return spec.options.alibi != AlibiFamily::kNone; });
    check([](const CaseSpec& spec) { return spec.placement.garbage_beyond_table; });
    check([](const CaseSpec& spec) { return spec.placement.shares_prefixes; });
    check([](const CaseSpec& spec) { return spec.shared_prefix > 0; });
    check([](const CaseSpec& spec) { return spec.placement.block_padding > 0; });
    check([](const CaseSpec& spec) { return spec.placement.row_padding > 0; });
    check([](const CaseSpec& spec) { return spec.placement.table_padding > 0; });
  }
  for (const GapField& field : kGapFields)
    check_all_appear(
        std::vector{true}, [&](const CaseSpec& spec) { return spec.placement.gaps.*field.gap > 0; },
        60);
  check_all_appear(
      std::vector{true}, [](const CaseSpec& spec) { return spec.placement.gaps == Gaps{}; }, 2);
  check_all_appear(
      kSinkFamilies, [](const CaseSpec& spec) { return spec.options.sinks; }, 30);
  check_all_appear(
      kAlibiFamilies, [](const CaseSpec& spec) { return spec.options.alibi; }, 30);
  check_all_appear(
      std::vector{true}, [](const CaseSpec& spec) { return spec.options.scale < 0; }, 12);
  for (const auto member : {&OptionsSpec::k_scales, &OptionsSpec::v_scales}) {
    check_all_appear(
        std::vector{ScaleKind::kNone, ScaleKind::kPerTensor, ScaleKind::kPerKvHead},
        [&](const CaseSpec& spec) { return spec.options.*member; }, 8);
  }
}

// The kind of a row, by its position in its sequence.
std::string kind_of(const SequenceSpec& sequence) {
  if (sequence.num_rows == 0) return "no rows";
  if (sequence.context_length == 0) return "no keys";
  if (sequence.num_rows > sequence.context_length) return "more rows than keys";
  if (sequence.num_rows == sequence.context_length) return "prefill";
  return sequence.num_rows == 1 ? "decode" : "chunk";
}

TEST_CASE("every kind of rows appears, and one, some and the most sequences") {
  std::map<std::string, int> kinds;
  std::map<std::size_t, int> counts;
  for (const CaseSpec& spec : many_cases()) {
    ++counts[spec.sequences.size()];
    std::set<std::string> own;
    for (const SequenceSpec& sequence : spec.sequences) own.insert(kind_of(sequence));
    for (const std::string& kind : own) ++kinds[kind];
  }
  CHECK(kinds.size() == 6);
  for (const auto& [kind, count] : kinds) {
    CAPTURE(kind, count);
    CHECK(count > kCases / 50);
  }
  CHECK(counts.size() == 5);
  for (const auto& [sequences, count] : counts) {
    CAPTURE(sequences, count);
    CHECK(count > kCases / 20);
  }
}

TEST_CASE("equal dimensions are counted by pairs") {
  CaseSpec spec;  // contexts of 0, hence no blocks; everything else 1
  CHECK(count_equal_dimensions(spec) == 15 + 1);
  spec.shape = {6, 2, 5, 7};
  spec.sequences = {{1, 30, 0}, {1, 17, 1}, {1, 9, 2}};
  spec.placement.block_size = 8;  // 4 blocks
  CHECK(count_equal_dimensions(spec) == 0);
  spec.sequences[1].num_rows = 2;  // not decode: 4 rows, as many as blocks
  CHECK(count_equal_dimensions(spec) == 1);
  spec.shape.head_dim_v = 5;
  CHECK(count_equal_dimensions(spec) == 2);
}

TEST_CASE("three cases of four have no two equal dimensions, and some of the others do") {
  const auto distinct = std::ranges::count(many_cases(), 0, count_equal_dimensions);
  CHECK(distinct > kCases * 7 / 10);
  CHECK(distinct < kCases * 9 / 10);
  const auto count_if = [](const auto& predicate) {
    return std::ranges::count_if(many_cases(), predicate);
  };
  CHECK(count_if([](const CaseSpec& spec) { return spec.shape.group() == 1; }) > kCases / 50);
  CHECK(count_if([](const CaseSpec& spec) {
          return spec.shape.head_dim_k == spec.shape.head_dim_v;
        }) > kCases / 100);
}

TEST_CASE("drawn cases stay within a narrow domain") {
  CaseDomain domain;
  domain.types = {{ElementType::kBf16, ElementType::kBf16}};
  domain.layouts = {KvLayout::kHeadMajor};
  domain.rows = {RowsKind::kDecode};
  domain.head_dims = {64, 128};
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  domain.groups = {1, 4};
  domain.block_sizes = {16};
  domain.num_seqs_max = 2;
  domain.num_kv_heads_max = 2;
  domain.context_max = 40;
  domain.families = {FloatFamily::kNormal};
  domain.poisons = {Poison::kNaN};
  domain.has_softcap = domain.has_window = domain.has_alibi = domain.has_sinks = false;
  domain.has_non_causal = domain.has_padding = domain.has_far_scores = false;
  for (const CaseSpec& spec : draw_many(domain, 300)) {
    CAPTURE(spec);
    OptionsSpec plain;
    plain.scale = spec.options.scale;
    REQUIRE(spec.options == plain);
    REQUIRE(spec.shape.head_dim_k == spec.shape.head_dim_v);
    REQUIRE(spec.shape.head_dim_k >= 64);
    REQUIRE(spec.shape.kv_type == ElementType::kBf16);
    REQUIRE(spec.placement.layout == KvLayout::kHeadMajor);
    REQUIRE(spec.placement.block_size == 16);
    REQUIRE(spec.placement.block_padding + spec.placement.row_padding == 0);
    REQUIRE(spec.placement.gaps == Gaps{});
    REQUIRE(spec.longest_context() <= 40);
    REQUIRE(spec.num_rows() == static_cast<std::int64_t>(spec.sequences.size()));
    REQUIRE((spec.q == spec.k && spec.k == spec.v));
    REQUIRE(spec.v == FloatFamily::kNormal);
  }
}

TEST_CASE("a case has only the gaps of its domain, and is otherwise the same") {
  CaseDomain domain;
  domain.gaps = {&Gaps::q_rows, &Gaps::v_slots};
  const std::vector<CaseSpec> specs = draw_many(domain, 300);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    CaseSpec expected = many_cases()[i];
    expected.placement.gaps = {.q_rows = expected.placement.gaps.q_rows,
                               .v_slots = expected.placement.gaps.v_slots};
    REQUIRE(specs[i] == expected);
    count += expected.placement.gaps != Gaps{};
  }
  CHECK(count > 10);
}

TEST_CASE("long contexts and the head dims of models stay in the domain") {
  CaseDomain domain;
  domain.head_dims = {64, 80, 96, 128, 192, 256};
  domain.context_max = 20'000;
  domain.num_rows_max = 300;
  std::int64_t alibi = 0;
  for (const CaseSpec& spec : draw_many(domain, 2000)) {
    REQUIRE(check_case(spec) == Status::ok());
    alibi += spec.options.alibi != AlibiFamily::kNone;
  }
  CHECK(alibi > 50);
}

}  // namespace
}  // namespace recto::verify
