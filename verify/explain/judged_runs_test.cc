// Kernels that are right in a law's case but wrong in another of its runs: the report names that
// run and explains it.

#include "verify/explain/judged_runs.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/cases/case_spec.h"
#include "verify/explain/testing/changed_results.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

constexpr const char* kLastKey = "diagnosis  scores: key 5 should be visible and get no";

// Decode with two query heads per KV head.
CaseSpec grouped() {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 4, .num_kv_heads = 2, .head_dim_k = 4, .head_dim_v = 3};
  spec.options.scale = 0.125F;
  spec.sequences = {{.num_rows = 1, .context_length = 6}};
  spec.q = spec.k = FloatFamily::kUniform;
  spec.v = FloatFamily::kNormal;
  return spec;
}

LawCase case_of_spec(const CaseSpec& spec) { return {make_problem(spec), spec.placement}; }

// Drops each context's last key in calls for which `is_wrong`; calls are counted from 1.
struct LosingKeys {
  using IsWrong = std::function<bool(const PagedAttentionInputs&, std::int64_t call)>;

  explicit LosingKeys(const IsWrong& is_wrong) {
    backend = canary_backend("losing keys", Fault::kNone);
    backend.attend = always_done([calls = calls, is_wrong,
                                  right = backend](const PagedAttentionInputs& inputs) {
      if (!is_wrong(inputs, ++*calls)) return result_of(right.call(inputs));
      std::vector<std::int32_t> lengths(inputs.context_length.begin(), inputs.context_length.end());
      for (std::int32_t& length : lengths) --length;
      PagedAttentionInputs shorter = inputs;
      shorter.context_length = lengths;
      return result_of(right.call(shorter));
    });
  }

  std::shared_ptr<std::int64_t> calls = std::make_shared<std::int64_t>(0);
  Backend backend;
};

bool is_second(const PagedAttentionInputs& /*inputs*/, std::int64_t call) { return call == 2; }

struct Told {
  LawVerdict verdict;
  std::string text;
};

Told tell(
    const Law& law, const Backend& backend, const LawCase& law_case,
    const std::function<void()>& begin = [] {}, double work_max = kJudgedWorkMax) {
  const TriedLaw tried{law, backend, law_case, BoundKind::kProbabilistic};
  JudgedRuns runs;
  Told told{.verdict = judged_verdict(tried, runs, work_max), .text = {}};
  told.text = explained_runs(tried, runs, begin);
  return told;
}

TEST_CASE("a wrong run of other sizes is reported with these sizes, and explained") {
  const LosingKeys ungrouped([](const PagedAttentionInputs& inputs, std::int64_t) {
    return inputs.kv.k.num_kv_heads == inputs.q.num_heads;
  });
  const Told told = tell(repeated_kv_heads_law(), ungrouped.backend, case_of_spec(grouped()));
  CHECK(told.verdict.failed());
  CHECK_THAT(told.text, StartsWith("runs       run 2 of the law's 2 is the first that the oracle "
                                   "finds wrong; it differs from the case in\n"
                                   "  KV heads    4, of the case 2\n"));
  CHECK_THAT(told.text, ContainsSubstring("\noracle     "));
  CHECK_THAT(told.text, ContainsSubstring(kLastKey));
  CHECK_THAT(told.text, ContainsSubstring("\n  context lengths without the newest token\n"));
}

TEST_CASE("a run that is wrong only after others is explained by repeating these") {
  const LosingKeys second(is_second);
  const LawCase law_case = case_of_spec(grouped());
  const auto begin = [calls = second.calls] { *calls = 0; };
  const Told told = tell(repetition_law(), second.backend, law_case, begin);
  CHECK(told.verdict.failed());
  CHECK_THAT(told.text, StartsWith("runs       run 2 of the law's 2 is the first that the oracle "
                                   "finds wrong; its sizes and options are those of the case\n"));
  CHECK_THAT(told.text, ContainsSubstring(kLastKey));
  *second.calls = 0;
  const Told once = tell(repetition_law(), second.backend, law_case);
  CHECK_THAT(once.text, ContainsSubstring(" elements are wrong\n"));
  CHECK_THAT(once.text, ContainsSubstring(
                            "\n  run again in its place, in newly laid out memory, it is right\n"));
}

TEST_CASE("runs that differ by less than the bounds are each reported as right") {
  Backend nearly = changing([](const PagedAttentionInputs&, reference::AttentionResult& result) {
    static int calls = 0;
    if (++calls % 2 == 0) result.out[0] *= 1.0 + 1e-9;
  });
  const Told told = tell(repetition_law(), nearly, case_of_spec(grouped()));
  CHECK(told.verdict.failed());
  CHECK(
      told.text ==
      "runs       each of the law's 2 runs is right by the oracle: they differ from each other by "
      "more than the law allows\n");
  CaseSpec rows = grouped();
  rows.sequences.front().num_rows = 3;  // other rows see the keys that one of them does not see
  const Told masked = tell(masked_keys_law(), nearly, case_of_spec(rows));
  CHECK(masked.verdict.failed());
  CHECK_THAT(
      masked.text,
      ContainsSubstring(
          " are judged by the oracle, and right; the others read values that are not finite\n"));
}

TEST_CASE("a run that does not return is reported by its number") {
  LosingKeys ending([](const PagedAttentionInputs&, std::int64_t) { return false; });
  ending.backend.attend = [right = ending.backend, calls = ending.calls](
                              const PagedAttentionInputs& inputs, const CallOptions& options) {
    CallOutcome outcome = right.call(inputs, options);
    return *calls == 2 ? Failed{"SIGSEGV", "ended"} : outcome;
  };
  const Told told = tell(repetition_law(), ending.backend, case_of_spec(grouped()));
  CHECK(told.verdict.kind() == "SIGSEGV");
  CHECK(told.text ==
        "runs       run 2 of the law did not return; its sizes and options are "
        "those of the case\n");
}

TEST_CASE("runs are judged within a limit of work") {
  const LawCase law_case = case_of_spec(grouped());
  const LosingKeys second(is_second);
  const Told told = tell(
      repetition_law(), second.backend, law_case, [] {}, 0.0);
  CHECK(told.verdict.failed());
  CHECK(told.text ==
        "runs       of the law's 2 runs, 0 are judged by the oracle, and right; the others "
        "would take too long\n");
}

TEST_CASE("a judged verdict equals the law's verdict without a judge") {
  CaseSpec spec = grouped();
  spec.sequences = {{.num_rows = 3, .context_length = 6, .id = 0},
                    {.num_rows = 1, .context_length = 0, .id = 1}};
  const LawCase law_case = case_of_spec(spec);
  for (const Law& law : all_laws()) {
    INFO(law.name);
    const LosingKeys right([](const PagedAttentionInputs&, std::int64_t) { return false; });
    const TriedLaw tried{law, right.backend, law_case, BoundKind::kProbabilistic};
    JudgedRuns runs;
    const LawVerdict verdict = judged_verdict(tried, runs);
    CHECK_FALSE(verdict.failed());
    CHECK_FALSE(runs.first);
    CHECK(runs.made == *right.calls);
    if (law.name != "masked_keys") CHECK(runs.judged == runs.made);
  }
}

TEST_CASE("inputs turned into a case pose the same problem") {
  CaseSpec spec = grouped();
  spec.shape.head_dim_k = spec.shape.head_dim_v = 16;
  spec.shape.q_type = ElementType::kFp16;
  spec.shape.kv_type = ElementType::kE4m3;
  spec.options = {.scale = 0.5F,
                  .softcap = 3.0F,
                  .window = 4,
                  .alibi = AlibiFamily::kUsual,
                  .sinks = SinkFamily::kNormal,
                  .k_scales = ScaleKind::kPerTensor,
                  .v_scales = ScaleKind::kPerKvHead};
  spec.sequences = {{.num_rows = 2, .context_length = 7, .id = 0},
                    {.num_rows = 1, .context_length = 0, .id = 1}};
  spec.placement.layout = KvLayout::kPacked;
  spec.placement.block_size = 4;
  const LawCase law_case = case_of_spec(spec);
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const LawCase read = case_of(placed.inputs(), plain_placement());
  CHECK(read.placement.layout == KvLayout::kPacked);
  const PlacedProblem again(read.problem, read.placement);
  CHECK(differing_text(again.inputs(), placed.inputs()).empty());
  CHECK(compare_bits(placed.inputs(), reference::paged_attention(again.inputs()),
                     reference::paged_attention(placed.inputs()))
            .passed());
}

}  // namespace
}  // namespace recto::verify
