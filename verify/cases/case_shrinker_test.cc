#include "verify/cases/case_shrinker.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "bazel/testing/property.h"
#include "verify/cases/case_generator.h"

namespace recto::verify {
namespace {

using CasePredicate = std::function<bool(const CaseSpec&)>;

struct ShrunkCase {
  CaseSpec spec;
  std::int64_t evaluations = 0;
};

// The minimal case that a property's search for a counterexample reaches from `failing`.
ShrunkCase shrink(const CaseSpec& failing, const CasePredicate& still_fails) {
  ShrunkCase shrunk{.spec = failing};
  const auto holds = [&](Draw& draw) {
    const auto start = [failing](std::uint64_t /*bits*/) { return failing; };
    const CaseSpec spec = draw.custom("case", start, simpler_cases);
    ++shrunk.evaluations;
    if (!still_fails(spec)) return;
    shrunk.spec = spec;
    fail_case("as planted");
  };
  CHECK_FALSE(check_property(holds, {.cases = 1}).holds);
  return shrunk;
}

std::vector<CaseSpec> draw_failing(const CasePredicate& fails, std::size_t count) {
  RandomStream stream(2026);
  std::vector<CaseSpec> specs;
  while (specs.size() < count) {
    CaseSpec spec = draw_case(stream, CaseDomain{});
    if (fails(spec)) specs.push_back(std::move(spec));
  }
  return specs;
}

struct Planted {
  CasePredicate fails;
  CaseSpec minimal;
};

// Shrinks many failing cases; all must shrink to the same case.
void check_shrinks(const Planted& planted) {
  std::int64_t evaluations_max = 0;
  for (const CaseSpec& failing : draw_failing(planted.fails, 100)) {
    const ShrunkCase shrunk = shrink(failing, planted.fails);
    CAPTURE(failing);
    REQUIRE(shrunk.spec == planted.minimal);
    evaluations_max = std::max(evaluations_max, shrunk.evaluations);
  }
  CAPTURE(evaluations_max);
  CHECK(evaluations_max <= 600);
}

TEST_CASE("a failure of every case shrinks to the plain case") {
  check_shrinks({[](const CaseSpec&) { return true; }, CaseSpec{}});
}

TEST_CASE("a window with a context of 17 keys shrinks to one such sequence") {
  CaseSpec minimal;
  minimal.sequences[0].context_length = 17;
  minimal.options.window = 1;
  check_shrinks(
      {[](const CaseSpec& spec) { return spec.options.window && spec.longest_context() >= 17; },
       minimal});
}

TEST_CASE("a group shrinks to two query heads on one KV head") {
  CaseSpec minimal;
  minimal.shape.num_q_heads = 2;
  check_shrinks({[](const CaseSpec& spec) { return spec.shape.group() > 1; }, minimal});
}

TEST_CASE(
    "a gap shrinks to the smallest that fails at its alignment, and an unneeded gap disappears") {
  CaseSpec failing;
  failing.placement.layout = KvLayout::kPacked;
  failing.placement.gaps = {.q_rows = 48, .k_pack_slots = 2, .v_heads = 13};
  failing.shape.head_dim_k = 4;
  const ShrunkCase shrunk = shrink(failing, [](const CaseSpec& spec) {
    return spec.placement.gaps.q_rows > 16 && spec.placement.gaps.v_heads > 6;
  });
  CaseSpec minimal;
  minimal.placement.gaps = {.q_rows = 32, .v_heads = 7};
  CHECK(shrunk.spec == minimal);
}

TEST_CASE("many heads, sequences and large blocks shrink to the least that fails, in few trials") {
  CaseSpec large;
  large.shape.num_kv_heads = 8;
  large.shape.num_q_heads = 128;
  for (std::uint64_t id = 1; id < 200; ++id) large.sequences.push_back({.id = id});
  large.placement.block_size = 512;
  const auto smallest = [&](const CasePredicate& fails) {
    const ShrunkCase shrunk = shrink(large, fails);
    CHECK(shrunk.evaluations < 400);
    return shrunk.spec;
  };
  CaseSpec q_heads;
  q_heads.shape.num_q_heads = 65;
  CHECK(smallest([](const CaseSpec& spec) { return spec.shape.num_q_heads > 64; }) == q_heads);
  CaseSpec group;
  group.shape.num_q_heads = 9;
  CHECK(smallest([](const CaseSpec& spec) { return spec.shape.group() > 8; }) == group);
  CaseSpec block;
  block.placement.block_size = 272;
  CHECK(smallest([](const CaseSpec& spec) { return spec.placement.block_size > 256; }) == block);
  const CaseSpec batch = smallest([](const CaseSpec& spec) { return spec.sequences.size() > 64; });
  CHECK(batch.sequences.size() == 65);
  CHECK(batch.shape == CaseSpec{}.shape);
}

TEST_CASE("packed e4m3 shrinks to one pack, beside the plainest type that goes with it") {
  CaseSpec minimal;
  minimal.shape.head_dim_k = 16;
  minimal.shape.q_type = ElementType::kFp16;
  minimal.shape.kv_type = ElementType::kE4m3;
  minimal.placement.layout = KvLayout::kPacked;
  check_shrinks({[](const CaseSpec& spec) {
                   return spec.placement.layout == KvLayout::kPacked &&
                          spec.shape.kv_type == ElementType::kE4m3;
                 },
                 minimal});
}

TEST_CASE("a failure of the second sequence by NaN in V beyond a block shrinks to just that") {
  CaseSpec minimal;
  minimal.sequences = {{.num_rows = 1, .context_length = 0, .id = 0},
                       {.num_rows = 3, .context_length = 9, .id = 1}};
  minimal.placement.block_size = 8;
  minimal.placement.poison = Poison::kNaN;
  minimal.v = FloatFamily::kNormal;
  minimal.varied_tokens = TokenRange{0, 0};  // their numbers do not matter
  check_shrinks({[](const CaseSpec& spec) {
                   return spec.sequences.size() >= 2 && spec.sequences[1].num_rows >= 3 &&
                          spec.sequences[1].context_length >= 9 && spec.sequences[0].num_rows > 0 &&
                          spec.placement.block_size >= 8 &&
                          spec.placement.poison != Poison::kZero && spec.v >= FloatFamily::kNormal;
                 },
                 minimal});
}

TEST_CASE("a failure that needs one number keeps only the numbers of that token") {
  // The failure needs a value beyond 3 in V, of a token that is not the first.
  const auto token_beyond = [](const CaseSpec& spec) -> std::int64_t {
    const AttentionProblem problem = make_problem(spec);
    for (const SequenceProblem& sequence : problem.sequences) {
      const std::int64_t width = spec.shape.num_kv_heads * spec.shape.head_dim_v;
      for (std::int64_t i = width; i < std::ssize(sequence.v); ++i) {
        if (std::abs(sequence.v[static_cast<std::size_t>(i)]) > 3.0F) return i / width;
      }
    }
    return -1;
  };
  const CasePredicate fails = [&](const CaseSpec& spec) {
    return spec.v >= FloatFamily::kNormal && token_beyond(spec) > 0;
  };
  for (const CaseSpec& failing : draw_failing(fails, 20)) {
    const ShrunkCase shrunk = shrink(failing, fails);
    CAPTURE(failing, shrunk.spec);
    REQUIRE(shrunk.spec.varied_tokens.has_value());
    const std::int64_t token = token_beyond(shrunk.spec);
    CHECK(*shrunk.spec.varied_tokens == TokenRange{token, token + 1});
    CHECK(shrunk.spec.longest_context() == token + 1);
    CHECK(shrunk.spec.sequences.size() == 1);
  }
}

TEST_CASE("unneeded options are removed one by one, and the two needed ones stay") {
  CaseSpec minimal;
  minimal.options.softcap = 30.0F;
  minimal.options.sinks = SinkFamily::kZero;
  check_shrinks({[](const CaseSpec& spec) {
                   return spec.options.softcap == 30.0F && spec.options.sinks != SinkFamily::kNone;
                 },
                 minimal});
}

TEST_CASE("a seed that matters is kept, and one that does not becomes 0") {
  CaseSpec failing;
  failing.seed = 7;
  failing.placement.seed = 9;
  failing.placement.order = BlockOrder::kShuffled;
  const ShrunkCase shrunk = shrink(failing, [](const CaseSpec& spec) { return spec.seed == 7; });
  CaseSpec minimal;
  minimal.seed = 7;
  CHECK(shrunk.spec == minimal);
}

TEST_CASE("every simpler case is valid and less complex, so that shrinking ends") {
  RandomStream stream(1);
  std::size_t fewest = 1000;
  std::size_t most = 0;
  for (int i = 0; i < 10'000; ++i) {
    const CaseSpec spec = draw_case(stream, CaseDomain{});
    const std::vector<CaseSpec> simpler = simpler_cases(spec);
    fewest = std::min(fewest, simpler.size());
    most = std::max(most, simpler.size());
    for (const CaseSpec& candidate : simpler) {
      if (complexity(candidate) < complexity(spec) && check_case(candidate).is_ok()) continue;
      FAIL(spec << "\nbecomes\n" << candidate);
    }
  }
  CHECK(fewest > 0);
  CHECK(most < 200);
}

TEST_CASE("the plain case has no simpler one, and any other case has") {
  CHECK(simpler_cases(CaseSpec{}).empty());
  CaseSpec seeded;
  seeded.seed = 1;
  CHECK(simpler_cases(seeded) == std::vector<CaseSpec>{CaseSpec{}});
}

TEST_CASE("the boldest change comes first") {
  CaseSpec spec;
  spec.sequences = {{1, 100, 0}, {1, 50, 1}, {1, 20, 2}};
  spec.shape.num_q_heads = 2;
  const std::vector<CaseSpec> simpler = simpler_cases(spec);
  CHECK(simpler.front().sequences.size() == 1);
  CHECK(complexity(simpler.front()) < complexity(spec) - 70);
  CHECK(complexity(simpler.back()) == complexity(spec) - 1);
}

}  // namespace
}  // namespace recto::verify
