// Rows without a key to attend to, each with one fault: the diagnosis is right, does not mention
// weights that such rows lack, and names the fault.

#include "verify/explain/diagnosis.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/error_bound.h"
#include "reference/kv_cache_reader.h"
#include "reference/numerics.h"
#include "verify/cases/case_spec.h"
#include "verify/comparison.h"
#include "verify/explain/explanation.h"
#include "verify/explain/testing/changed_results.h"
#include "verify/qa/canary.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;
using reference::AttentionResult;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
const std::string kUnwritten = "rows without keys are not written, or only added to";
const std::string kZeroByZero = "rows without keys are divided by their sum, 0 / 0";

// Decode of three sequences; the second has no keys.
CaseSpec decode() {
  CaseSpec spec;
  spec.shape = {.num_q_heads = 2, .num_kv_heads = 1, .head_dim_k = 4, .head_dim_v = 3};
  spec.sequences = {{.num_rows = 1, .context_length = 5, .id = 0},
                    {.num_rows = 1, .context_length = 0, .id = 1},
                    {.num_rows = 1, .context_length = 7, .id = 2}};
  spec.q = spec.k = spec.v = FloatFamily::kNormal;
  spec.placement.block_size = 4;
  spec.seed = 3;
  return spec;
}
constexpr std::int64_t kEmpty = 1;  // row of the batch

// Four rows in a context of two keys: the first two precede it.
CaseSpec early_rows() {
  CaseSpec spec = decode();
  spec.sequences = {{.num_rows = 4, .context_length = 2, .id = 0}};
  return spec;
}

void set_row(AttentionResult& result, std::int64_t row, double out, double lse_ln) {
  for (std::int64_t head = 0; head < result.num_heads; ++head) {
    for (std::int64_t dim = 0; dim < result.head_dim; ++dim) result.out_at(row, head, dim) = out;
    result.lse_ln_at(row, head) = lse_ln;
  }
}

Explanation explained(const Backend& backend, const CaseSpec& spec) {
  return explain(backend, {make_problem(spec), spec.placement}, BoundKind::kProbabilistic);
}

std::string text_of(const Explanation& explanation, const CaseSpec& spec) {
  return explanation_text(explanation, {make_problem(spec), spec.placement});
}

// Also checks that the report does not mention what such a row lacks.
void check_named(const Backend& backend, const CaseSpec& spec,
                 const std::vector<std::string>& named) {
  const Explanation explanation = explained(backend, spec);
  const std::string text = text_of(explanation, spec);
  INFO(text);
  CHECK(explanation.is_wrong() == !named.empty());
  CHECK(explanation.faults.fitting == named);
  if (named.empty()) return;
  CHECK(explanation.is_empty_row);
  CHECK(explanation.faults.weak == "no wrong row has a key to attend to");
  CHECK_THAT(text, ContainsSubstring("the row has no key to attend to: "));
  CHECK_THAT(text, !ContainsSubstring("cannot be identified: the running maximum"));
  CHECK_THAT(text, !ContainsSubstring("weights and lse are right"));
  CHECK_THAT(text, !ContainsSubstring("all weights are right"));
}

TEST_CASE("NaN in a row without keys has two possible causes: 0 / 0, or rows not written") {
  const Backend wrong = changing([](const PagedAttentionInputs&, AttentionResult& result) {
    set_row(result, kEmpty, kNaN, -kInfinity);
  });
  check_named(wrong, decode(), {kUnwritten, kZeroByZero});
  const Explanation explanation = explained(wrong, decode());
  CHECK(explanation.diagnosis.step == Step::kOutput);
  const std::string text = text_of(explanation, decode());
  CHECK_THAT(text, ContainsSubstring("\nweights    none: the row has no key to attend to\n"));
  CHECK_THAT(text, ContainsSubstring("\ndiagnosis  output: the row has no key to attend to: its "
                                     "context is empty. By definition out is zeros, and lse_ln is "
                                     "-inf; found: out is NaN, lse_ln is right\n"));
}

TEST_CASE("stale memory distinguishes 0 / 0 from rows that are not written") {
  Backend divided = changing([](const PagedAttentionInputs&, AttentionResult& result) {
    set_row(result, kEmpty, kNaN, kNaN);
  });
  Backend unwritten = divided;
  divided.capabilities.takes_stale_memory = true;
  check_named(divided, decode(), {kZeroByZero});
  unwritten.capabilities.takes_stale_memory = true;
  unwritten.attend = [](const PagedAttentionInputs& inputs, const CallOptions& options) {
    const float number = std::bit_cast<float>(options.stale_memory);
    const double stale = std::isnan(number) ? kNaN : number;
    return changing([stale](const PagedAttentionInputs&, AttentionResult& result) {
             set_row(result, kEmpty, stale, stale);
           })
        .call(inputs);
  };
  check_named(unwritten, decode(), {"rows without keys are not written"});
  CHECK_THAT(text_of(explained(unwritten, decode()), decode()),
             ContainsSubstring("found: out is NaN, lse_ln is nan; both follow what memory held "
                               "before the call: it is not written"));
}

TEST_CASE("rows without keys that hold another sequence's row, or read its keys, are named") {
  check_named(changing([](const PagedAttentionInputs&, AttentionResult& result) {
                for (std::int64_t head = 0; head < result.num_heads; ++head) {
                  for (std::int64_t dim = 0; dim < result.head_dim; ++dim)
                    result.out_at(kEmpty, head, dim) = result.out_at(kEmpty - 1, head, dim);
                }
              }),
              decode(),
              {"rows without keys hold the result of a row of the sequence before theirs"});
  check_named(changing([](const PagedAttentionInputs& inputs, AttentionResult& result) {
                PagedAttentionInputs other = inputs;
                std::vector<std::int32_t> lengths(inputs.context_length.begin(),
                                                  inputs.context_length.end());
                std::vector<std::int32_t> table;
                const BlockTableView& own = inputs.block_table;
                for (const std::int64_t s : {0, 2, 2}) {
                  const std::int32_t* const row = own.data + s * own.row_stride;
                  table.insert(table.end(), row, row + own.max_blocks);
                }
                lengths[kEmpty] = lengths[kEmpty + 1];
                other.context_length = lengths;
                other.block_table.data = table.data();
                other.block_table.row_stride = own.max_blocks;
                result = attend_with_fault(other, Fault::kNone);
              }),
              decode(), {"rows without keys attend to the keys of the sequence after theirs"});
}

TEST_CASE("a wrong lse beside a right output is named with its value") {
  const auto with_lse_ln = [](double lse_ln) {
    return changing([lse_ln](const PagedAttentionInputs&, AttentionResult& result) {
      set_row(result, kEmpty, 0.0, lse_ln);
    });
  };
  check_named(with_lse_ln(0.0), decode(), {"the lse of rows without keys is 0"});
  CHECK(explained(with_lse_ln(0.0), decode()).diagnosis.step == Step::kSum);
  check_named(with_lse_ln(-1e30), decode(),
              {"the lse of rows without keys is a large negative number"});
  check_named(with_lse_ln(-kInfinity), decode(), {});
  CaseSpec spec = decode();
  spec.options.sinks = SinkFamily::kNormal;
  check_named(with_lse_ln(-kInfinity), spec, {"the sink is left out of rows without keys"});
  CHECK_THAT(text_of(explained(with_lse_ln(-kInfinity), spec), spec),
             ContainsSubstring("By definition out is zeros, and lse_ln is the head's sink, "));
}

TEST_CASE("rows before the context's first key that attend to keys are named with these keys") {
  const auto with_mean = changing([](const PagedAttentionInputs& inputs, AttentionResult& result) {
    const auto v = reference::gather_head(inputs.kv.v, inputs.block_table.data, 2, 0);
    for (std::int64_t row = 0; row < 2; ++row) {
      set_row(result, row, 0.0, -1e30);
      for (std::int64_t head = 0; head < result.num_heads; ++head)
        for (std::int64_t dim = 0; dim < result.head_dim; ++dim)
          result.out_at(row, head, dim) = v.col(dim).mean();
    }
  });
  check_named(with_mean, early_rows(),
              {"rows without keys get the mean of V, as with a large negative number for a mask"});
  const Explanation mean = explained(with_mean, early_rows());
  CHECK(mean.diagnosis.step == Step::kScores);
  CHECK_THAT(text_of(mean, early_rows()),
             ContainsSubstring("diagnosis  scores: the row has no key to attend to: its position "
                               "is before the first key of its context") &&
                 ContainsSubstring("; keys 0, 1 get weight nevertheless: the mask"));
  check_named(changing([](const PagedAttentionInputs& inputs, AttentionResult& result) {
                const auto v = reference::gather_head(inputs.kv.v, inputs.block_table.data, 1, 0);
                for (std::int64_t row = 0; row < 2; ++row)
                  for (std::int64_t head = 0; head < result.num_heads; ++head)
                    for (std::int64_t dim = 0; dim < result.head_dim; ++dim)
                      result.out_at(row, head, dim) = v(0, dim);
              }),
              early_rows(), {"rows before the first key of their context see its first key"});
}

TEST_CASE("results in a file get the same explanation, and right results get none") {
  const CaseSpec spec = decode();
  const LawCase law_case{make_problem(spec), spec.placement};
  const PlacedProblem placed(law_case.problem, law_case.placement);
  AttentionResult seen = attend_with_fault(placed.inputs(), Fault::kNone);
  const auto told = [&] {
    const auto oracle = reference::bounded_attention(
        placed.inputs(), reference::third_party_numerics(ElementType::kFp32, ElementType::kFp32));
    return explain_results(seen, compare(placed.inputs(), seen, oracle.exact, oracle.probabilistic),
                           law_case, BoundKind::kProbabilistic);
  };
  CHECK_FALSE(told().is_wrong());
  check_named(canary_backend("right", Fault::kNone), spec, {});
  check_named(canary_backend("right", Fault::kNone), early_rows(), {});
  set_row(seen, kEmpty, 0.0, 0.0);
  const Explanation zero = told();
  CHECK(zero.is_empty_row);
  CHECK_THAT(zero.diagnosis.why, ContainsSubstring("found: out is zeros, lse_ln is 0"));
  CHECK(zero.faults.fitting == std::vector<std::string>{"the lse of rows without keys is 0"});
}

}  // namespace
}  // namespace recto::verify
