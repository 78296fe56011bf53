// For each canary that fails against the oracle, the explanation of its fault is right.

#include "verify/explain/explanation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/kv_cache_reader.h"
#include "reference/numerics.h"
#include "verify/drawn_cases.h"
#include "verify/law.h"
#include "verify/qa/canary.h"
#include "verify/restartable_backend.h"

namespace recto::verify {
namespace {

DrawnCases drawn() {
  CaseDomain domain;
  domain.head_dims = {1, 2, 3, 5, 8};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.num_rows_max = 4;
  domain.context_max = 70;
  return {.name = "canaries", .count = 400, .domain = domain};
}

// Cases that fail against the oracle, as drawn and shrunk.
std::vector<LawCase> failing_cases(const Backend& backend, std::size_t count) {
  std::vector<LawCase> failing;
  const CaseSource source = drawn_cases(drawn(), {});
  const Law oracle = oracle_comparison();
  while (const std::optional<DescribedCase> next = source()) {
    if (!verdict_of(oracle, backend, next->law_case, BoundKind::kProbabilistic).failed()) continue;
    failing.push_back(next->law_case);
    failing.push_back(
        shrink_failure(oracle, backend, *next, {.bound_kind = BoundKind::kProbabilistic}).law_case);
    if (failing.size() >= 2 * count) break;
  }
  return failing;
}

// The explanations allowed for a fault, and the beginning of its text if it is known; at least one
// case must have that text.
struct Expected {
  Fault fault = Fault::kNone;
  std::vector<Step> steps;
  std::string named = {};
};

const std::vector<Expected>& expected() {
  static const std::vector<Expected> kExpected = {
      {Fault::kWindowOffByOne, {Step::kScores}, "the window is one key too narrow"},
      {Fault::kTopLeftCausal, {Step::kScores}},
      {Fault::kSoftcapAfterMask, {Step::kScores}},
      {Fault::kMissingRescale,
       {Step::kMax},
       "sum and output of the keys before are not rescaled as the running maximum grows"},
      // A wrong K, or if all K are equal, a wrong V.
      {Fault::kWrongGroup,
       {Step::kScores, Step::kOutput},
       "KV head h % num_kv_heads for query head h"},
      // With a single key, score and sum cannot be distinguished.
      {Fault::kSinkLeftOutOfLogSum, {Step::kScores, Step::kSum}, "the sink is left out of the lse"},
      {Fault::kLastKeyDropped, {Step::kScores}, "context lengths without the newest token"},
      {Fault::kTailRead, {Step::kScores, Step::kSum}, "context lengths rounded up to whole blocks"},
      {Fault::kBase2LogSum, {Step::kScores, Step::kSum}, "the lse is a logarithm of base 2"},
      {Fault::kScaleAppliedTwice, {Step::kScores}, "the scale is applied twice"},
      {Fault::kBiasSign, {Step::kScores}, "ALiBi has the wrong sign"},
      {Fault::kMergeWithoutWeights,
       {Step::kWeights},
       "normalised outputs of parts are averaged, unweighted, by parts of 32"},
      {Fault::kConsecutiveBlocks, {Step::kScores, Step::kOutput}, "blocks taken to be consecutive"},
      {Fault::kTableWithoutStride,
       {Step::kScores, Step::kOutput},
       "rows of the block table are read at a stride of "},
      {Fault::kSlotByMask, {Step::kScores, Step::kSum, Step::kUnknown}},
      {Fault::kKeyStridesForValues, {Step::kOutput}},
      {Fault::kWrongPackWidth, {Step::kScores}},
      {Fault::kScaleLeftOut, {Step::kScores, Step::kOutput}, "V's scale is left out"},
      {Fault::kScaleOfFirstHead,
       {Step::kScores, Step::kWeights, Step::kOutput},
       "V's first head's scale for all heads"}};
  return kExpected;
}

TEST_CASE("each canary's faulty step is diagnosed, and its fault is named if it has a name") {
  REQUIRE(expected().size() == canaries().size());
  for (std::size_t i = 0; i < canaries().size(); ++i) {
    const Canary& canary = canaries()[i];
    REQUIRE(expected()[i].fault == canary.fault);
    const Backend backend = canary_backend(canary.name, canary.fault);
    const std::vector<LawCase> cases = failing_cases(backend, 3);
    REQUIRE(cases.size() == 6);
    bool is_named = expected()[i].named.empty();
    for (const LawCase& law_case : cases) {
      const Explanation explanation = explain(backend, law_case, BoundKind::kProbabilistic);
      INFO(canary.name << "\n" << explanation_text(explanation, law_case));
      CHECK(explanation.is_wrong());
      CHECK(std::ranges::count(expected()[i].steps, explanation.diagnosis.step) == 1);
      CHECK(explanation.faults.tried > 0);
      is_named =
          is_named || std::ranges::any_of(explanation.faults.fitting, [&](const std::string& what) {
            return what.starts_with(expected()[i].named);
          });
    }
    INFO(canary.name);
    CHECK(is_named);
  }
}

TEST_CASE("right results get no explanation") {
  const Backend right = canary_backend("right", Fault::kNone);
  for (std::uint64_t number = 0; number < 10; ++number) {
    const LawCase law_case = drawn_case(drawn(), number).law_case;
    const Explanation explanation = explain(right, law_case, BoundKind::kProbabilistic);
    CHECK_FALSE(explanation.is_wrong());
    CHECK((explanation_text(explanation, law_case).starts_with("oracle     ok: ")));
  }
}

LawCase small_case() {
  CaseSpec spec;
  spec.shape.head_dim_v = 2;
  spec.sequences = {{.num_rows = 1, .context_length = 5}};
  spec.k = spec.v = FloatFamily::kSmallIntegers;
  spec.options.window = 3;
  spec.options.scale = 0.125F;
  spec.placement.block_size = 4;
  return {make_problem(spec), spec.placement};
}

TEST_CASE("a missing key is shown with its block and slot") {
  const LawCase law_case = small_case();
  const Explanation explanation = explain(canary_backend("narrow", Fault::kWindowOffByOne),
                                          law_case, BoundKind::kProbabilistic);
  const std::string text = explanation_text(explanation, law_case);
  INFO(text);
  CHECK(explanation.diagnosis.key == 2);
  CHECK((text.find("\ndiagnosis  scores: key 2 should be visible and get no weight") !=
         std::string::npos));
  CHECK((text.find("  first at key 2: block 0, slot 2\n") != std::string::npos));
  CHECK((text.find("  the window is one key too narrow\n") != std::string::npos));
  CHECK((text.find("measured with V of ones and zeros in 3 runs\n") != std::string::npos));
}

TEST_CASE("results in a file are explained by the numerics that their author declares") {
  const LawCase law_case = small_case();
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  reference::AttentionResult seen = attend_with_fault(inputs, Fault::kWindowOffByOne);
  for (double& out : seen.out) out *= 1.0 + 0x1p-10;  // as with weights in bf16
  const auto named = [&](const reference::DeclaredNumerics& declared) {
    const auto oracle = reference::bounded_attention(
        inputs,
        with_declared(declared, reference::third_party_numerics(inputs.q.type, inputs.kv.k.type)));
    const Comparison comparison = compare(inputs, seen, oracle.exact, oracle.probabilistic);
    return explain_results(seen, comparison, law_case, BoundKind::kProbabilistic, declared)
        .faults.fitting;
  };
  CHECK(named({.weights = ElementType::kBf16}) ==
        std::vector<std::string>{"the window is one key too narrow"});
  CHECK(named({}).empty());
}

TEST_CASE("a backend's exception or refusal gives no explanation") {
  Backend broken = canary_backend("broken", Fault::kNone);
  broken.attend = always_done([](const PagedAttentionInputs&) -> reference::AttentionResult {
    throw std::runtime_error("decode was ended by SIGSEGV");
  });
  const Explanation thrown = explain(broken, small_case(), BoundKind::kProbabilistic);
  CHECK_FALSE(thrown.is_wrong());
  CHECK(explanation_text(thrown, small_case()) ==
        "nothing to explain\n  decode was ended by SIGSEGV\n");
  broken.refusal = [](const PagedAttentionInputs&, const CallOptions&) {
    return std::optional<std::string>("windows");
  };
  CHECK(explain(broken, small_case(), BoundKind::kProbabilistic).not_run == "windows");
}

TEST_CASE("a fault of the values alone is diagnosed as the output's, with right weights") {
  Backend wrong = canary_backend("wrong", Fault::kNone);
  wrong.attend = always_done([right = wrong](const PagedAttentionInputs& inputs) {
    reference::AttentionResult result = result_of(right.call(inputs));
    // As if a product overflowed, which does not happen with V of ones and zeros.
    for (double& out : result.out) out = std::abs(out) > 1.0 ? 2.0 * out : out;
    return result;
  });
  LawCase law_case = small_case();
  for (float& v : law_case.problem.sequences[0].v) v = 3.0F;
  const Explanation explanation = explain(wrong, law_case, BoundKind::kProbabilistic);
  CHECK(explanation.diagnosis.step == Step::kOutput);
  CHECK_FALSE(explanation.diagnosis.key);
}

// fp32 exponentials relative to the maximum of the first `tile` keys, for a row of one head.
Backend first_tile_backend(std::int64_t tile) {
  Backend backend = canary_backend("first tile", Fault::kNone);
  backend.attend = always_done([tile](const PagedAttentionInputs& inputs) {
    const std::int64_t keys = inputs.context_length[0];
    const std::int32_t* const blocks = inputs.block_table.data;
    const auto k = reference::gather_head(inputs.kv.k, blocks, keys, 0);
    const auto v = reference::gather_head(inputs.kv.v, blocks, keys, 0);
    const reference::Vector scores =
        k * reference::read_rows(inputs.q, 0, 0, 1).transpose() * inputs.options.scale;
    const double maximum = scores.head(std::min(tile, keys)).maxCoeff();
    reference::AttentionResult result(1, 1, v.cols());
    double sum = 0.0;
    for (std::int64_t key = 0; key < keys; ++key) {
      const auto weight = static_cast<double>(std::exp(static_cast<float>(scores[key] - maximum)));
      sum += weight;
      for (std::int64_t d = 0; d < v.cols(); ++d) result.out_at(0, 0, d) += weight * v(key, d);
    }
    for (double& out : result.out) out /= sum;
    result.lse_ln_at(0, 0) = maximum + std::log(sum);
    return result;
  });
  // fp32 bounds, with a generous margin.
  backend.numerics_of = [](const PagedAttentionInputs& inputs, const CallOptions&) {
    return reference::third_party_numerics(inputs.q.type, inputs.kv.k.type);
  };
  return backend;
}

TEST_CASE("a maximum of the first tile alone is named if the sum overflows") {
  CaseSpec spec;
  spec.sequences = {{.num_rows = 1, .context_length = 6}};
  LawCase law_case{make_problem(spec), spec.placement};
  law_case.problem.sequences[0].k[5] = 100.0F;
  const Explanation explanation =
      explain(first_tile_backend(4), law_case, BoundKind::kProbabilistic);
  INFO(explanation_text(explanation, law_case));
  REQUIRE(explanation.is_wrong());
  CHECK(explanation.diagnosis.step == Step::kMax);
  CHECK_FALSE(explain(first_tile_backend(6), law_case, BoundKind::kProbabilistic).is_wrong());
  // Without overflow, the fault cancels.
  law_case.problem.sequences[0].k[5] = 50.0F;
  CHECK_FALSE(explain(first_tile_backend(4), law_case, BoundKind::kProbabilistic).is_wrong());
}

TEST_CASE("an explanation says that NaN of the oracle is not judged, and names no fault") {
  LawCase law_case = small_case();
  law_case.problem.sequences[0].v[9] = std::numeric_limits<float>::quiet_NaN();
  const Backend right = canary_backend("right", Fault::kNone);
  const Explanation same = explain(right, law_case, BoundKind::kProbabilistic);
  INFO(explanation_text(same, law_case));
  CHECK((same.diagnosis.why.starts_with("found NaN, and expected NaN: the row's inputs")));
  CHECK(same.faults.fitting.empty());
  Backend silent = right;
  silent.attend = always_done([right = right](const PagedAttentionInputs& inputs) {
    reference::AttentionResult result = result_of(right.call(inputs));
    for (double& out : result.out) out = std::isnan(out) ? 0.0 : out;
    return result;
  });
  const Explanation number = explain(silent, law_case, BoundKind::kProbabilistic);
  CHECK((number.diagnosis.why.starts_with("found a number, expected NaN as in the oracle: ")));
  // NaN in place of a number is an ordinary fault.
  law_case.problem.sequences[0].v[9] = 1.0F;
  silent.attend = always_done([right = right](const PagedAttentionInputs& inputs) {
    reference::AttentionResult result = result_of(right.call(inputs));
    result.out[0] = std::numeric_limits<double>::quiet_NaN();
    return result;
  });
  CHECK(explain(silent, law_case, BoundKind::kProbabilistic).diagnosis.step == Step::kOutput);
}

TEST_CASE("slopes that are read by KV head are named") {
  Backend wrong = canary_backend("wrong", Fault::kNone);
  wrong.attend = always_done([right = wrong](const PagedAttentionInputs& inputs) {
    const std::span<const float> slopes = inputs.options.alibi_slopes;
    std::vector<float> read;
    for (std::size_t head = 0; head < slopes.size(); ++head) read.push_back(slopes[head / 2]);
    PagedAttentionInputs changed = inputs;
    changed.options.alibi_slopes = read;
    return result_of(right.call(changed));
  });
  CaseSpec spec;
  spec.shape.num_q_heads = 4;
  spec.shape.num_kv_heads = 2;
  spec.sequences = {{.num_rows = 1, .context_length = 9}};
  spec.v = FloatFamily::kSmallIntegers;
  spec.options.alibi = AlibiFamily::kUsual;
  const Explanation explanation =
      explain(wrong, {make_problem(spec), spec.placement}, BoundKind::kProbabilistic);
  REQUIRE(explanation.is_wrong());
  CHECK(explanation.faults.fitting ==
        std::vector<std::string>{"ALiBi's slopes are read by KV head"});
}

}  // namespace
}  // namespace recto::verify
