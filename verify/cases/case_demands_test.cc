#include "verify/cases/case_demands.h"

#include <algorithm>
#include <cmath>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/rounding.h"
#include "verify/cases/case_json.h"
#include "verify/cases/case_shrinker.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr int kDraws = 300;

// Draws cases within the demands and calls visit(spec) for each that meets them. Returns how many.
template <typename Visit>
int for_each_drawn(const CaseDemands& demands, const Visit& visit) {
  REQUIRE(demands.check() == Status::ok());
  CaseDomain domain;
  demands.narrow(domain);
  RandomStream stream(7);
  int met = 0;
  for (int i = 0; i < kDraws; ++i) {
    const CaseSpec spec = draw_case(stream, domain);
    if (!demands.are_met_by(spec)) continue;
    ++met;
    visit(spec);
  }
  return met;
}

std::optional<std::string> why_left_out(const CaseDemands& demands, const CaseSpec& spec) {
  const PlacedProblem placed(make_problem(spec), spec.placement);
  return demands.why_left_out(placed.inputs());
}

TEST_CASE("drawn cases meet the demands on shapes, options and features") {
  const CaseDemands demands{
      .types = {{ElementType::kFp16, ElementType::kFp16}, {ElementType::kBf16, ElementType::kE4m3}},
      .layouts = {KvLayout::kHeadMajor},
      .head_dim_multiple = 4,
      .has_equal_head_dims = true,
      .groups = {2, 3},
      .block_sizes = {8, 16},
      .without = {CaseFeature::kAlibi, CaseFeature::kEmpty, CaseFeature::kRowsBeyondContext,
                  CaseFeature::kPadding, CaseFeature::kNonCausal},
      .require = {CaseFeature::kWindow, CaseFeature::kSinks},
      .has_sinks_of_q_type = true,
      .scale = ScaleValues::kUsual,
      .has_scales_of_heads = false};
  const int met = for_each_drawn(demands, [&](const CaseSpec& spec) {
    INFO(spec);
    CHECK(why_left_out(demands, spec) == std::nullopt);
    CHECK(spec.shape.head_dim_k % 4 == 0);
    CHECK(spec.shape.head_dim_k == spec.shape.head_dim_v);
    CHECK(spec.options.window);
    CHECK(spec.options.scale ==
          static_cast<float>(1 / std::sqrt(static_cast<double>(spec.shape.head_dim_k))));
  });
  CHECK(met == kDraws);
}

TEST_CASE("each feature is drawn if it is required, and left out if it is not wanted") {
  for (const CaseFeature feature : kCaseFeatures) {
    CAPTURE(case_feature_name(feature));
    CHECK(for_each_drawn({.require = {feature}}, [&](const CaseSpec& spec) {
            CHECK(has_feature(spec, feature));
            const PlacedProblem placed(make_problem(spec), spec.placement);
            // Only out, or new tokens, may have gaps.
            if (feature != CaseFeature::kPadding) CHECK(has_feature(placed.inputs(), feature));
          }) > kDraws / 8);
    CHECK(for_each_drawn({.without = {feature}}, [&](const CaseSpec& spec) {
            CHECK(why_left_out({.without = {feature}}, spec) == std::nullopt);
          }) == kDraws);
  }
}

TEST_CASE("a call beyond the demands is left out, with words for the reason") {
  CaseSpec spec;
  spec.sequences = {{.num_rows = 2, .context_length = 5}};
  spec.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim_k = 8, .head_dim_v = 8};
  spec.options.scale = 0.5F;
  CHECK(why_left_out({}, spec) == std::nullopt);
  const auto check = [&](const CaseDemands& demands, const char* words) {
    const auto why = why_left_out(demands, spec);
    REQUIRE(why);
    CHECK_THAT(*why, ContainsSubstring(words));
  };
  check({.types = {{ElementType::kBf16, ElementType::kBf16}}}, "types");
  check({.layouts = {KvLayout::kPacked}}, "a layout");
  check({.head_dims = {16}}, "head dims");
  check({.head_dim_multiple = 16}, "head dims");
  check({.groups = {1}}, "a group");
  check({.block_sizes = {16}}, "a block size");
  check({.scale = ScaleValues::kUnit}, "a scale that is not unit");
  CHECK(why_left_out({.scale = ScaleValues::kPowerOfTwo}, spec) == std::nullopt);
  spec.shape.head_dim_v = 4;
  check({.has_equal_head_dims = true}, "unequal head dims");
}

TEST_CASE("demands that exclude each other are refused, by the flag") {
  const auto message = [](const CaseDemands& demands) { return demands.check().message(); };
  CHECK_THAT(message({.without = {CaseFeature::kSinks}, .require = {CaseFeature::kSinks}}),
             ContainsSubstring("--require: found 'sinks', which --without leaves out"));
  CHECK_THAT(message({.types = {{}}, .require = {CaseFeature::kScales}}),
             ContainsSubstring("expected an fp8 cache in --type"));
  CHECK_THAT(message({.require = {CaseFeature::kNegativeScale}, .scale = ScaleValues::kUnit}),
             ContainsSubstring("expected --scale any, found unit"));
  CHECK_THAT(message({.without = {CaseFeature::kSinks}, .has_sinks_of_q_type = true}),
             ContainsSubstring("--sinks-type: found q, but --without leaves sinks out"));
  CHECK_THAT(message({.without = {CaseFeature::kScales}, .has_scales_of_heads = false}),
             ContainsSubstring("--scales: found tensor, but --without leaves scales out"));
  CHECK(message({.without = {CaseFeature::kScales}, .has_sinks_of_q_type = true}) == "");
  CHECK_THAT(message({.head_dims = {20}, .head_dim_multiple = 8}),
             ContainsSubstring("--head-dim: found 20; expected multiples of 8"));
}

TEST_CASE("limits of poison hold apart for unused blocks and for slots behind contexts") {
  bool met_nan = false;
  for_each_drawn({.types = {{}}, .without = {CaseFeature::kEmpty}, .tails = PoisonLimit::kNone},
                 [&](const CaseSpec& spec) {
                   met_nan |= spec.placement.poison == Poison::kNaN;
                   CHECK(spec.placement.tails == PoisonLimit::kNone);
                 });
  CHECK(met_nan);
  for_each_drawn({.poison = PoisonLimit::kFinite}, [](const CaseSpec& spec) {
    CHECK(spec.placement.poison != Poison::kNaN);
    CHECK(spec.placement.poison != Poison::kInfinity);
  });
}

TEST_CASE("slots behind a context hold NaN only if the limit of tails allows it") {
  CaseSpec spec;
  spec.sequences = {{.num_rows = 1, .context_length = 5}};
  spec.placement.block_size = 4;
  spec.placement.poison = Poison::kNaN;
  spec.placement.spare_blocks = 1;
  const auto count_nan = [&](PoisonLimit tails) {
    spec.placement.tails = tails;
    const PlacedProblem placed(make_problem(spec), spec.placement);
    const KvTensorView& k = placed.inputs().kv.k;
    const auto* const values = static_cast<const float*>(k.data);
    return std::count_if(values, values + k.num_blocks * k.block_stride,
                         [](float value) { return std::isnan(value); });
  };
  CHECK(count_nan(PoisonLimit::kAny) == 4 + 3);
  CHECK(count_nan(PoisonLimit::kFinite) == 4);
  CHECK(count_nan(PoisonLimit::kNone) == 4);
}

TEST_CASE("a case's file keeps the options that demands add") {
  CaseSpec spec;
  spec.options.sinks = SinkFamily::kNormal;
  spec.options.has_sinks_of_q_type = true;
  spec.placement.tails = PoisonLimit::kFinite;
  const Result<CaseSpec> read = read_case(case_json(spec), "case");
  REQUIRE(read.is_ok());
  CHECK(read.value() == spec);
  CHECK_THAT(spec.text(), ContainsSubstring("sinks normal of q's type"));
  CHECK_THAT(spec.text(), ContainsSubstring("in tails finite"));
}

TEST_CASE("sinks of q's type are exact in it and stay within the score limit") {
  for (const TypePair& types : kTypePairs) {
    for (const SinkFamily family : kSinkFamilies) {
      CaseSpec spec;
      spec.shape = {.num_q_heads = 32, .q_type = types.q, .kv_type = types.kv};
      spec.options.sinks = family;
      spec.options.has_sinks_of_q_type = true;
      for (const float sink : make_problem(spec).options.sinks) {
        CHECK(reference::round_to(sink, types.q) == sink);
        CHECK(std::abs(sink) <= kScoreLimit);
      }
    }
  }
}

TEST_CASE("equal head dims shrink together, with the scale that follows from them") {
  CaseSpec spec;
  spec.shape.head_dim_k = spec.shape.head_dim_v = 64;
  spec.options.scale = 0.125F;
  const std::vector<CaseSpec> simpler = simpler_cases(spec);
  CHECK(std::ranges::any_of(simpler, [](const CaseSpec& each) {
    return each.shape.head_dim_k == 16 && each.shape.head_dim_v == 16 &&
           each.options.scale == 0.25F;
  }));
}

}  // namespace
}  // namespace recto::verify
