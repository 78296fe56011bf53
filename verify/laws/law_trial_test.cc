// Two sides may differ by the sum of their bounds: an error just inside passes, one just beyond
// fails.

#include "verify/laws/law_trial.h"

#include "bazel/testing/catch.h"
#include "reference/error_bound.h"
#include "verify/laws/testing/faulty_backends.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;
using reference::BoundedResult;

constexpr std::int64_t kOtherBlockSize = 8;

LawCase other_blocks() {
  LawCase law_case = small_case();
  law_case.placement.block_size = kOtherBlockSize;
  return law_case;
}

// fp32's profile for one side, fp16's for the other, so that their bounds differ.
reference::KernelNumerics numerics_of(const PagedAttentionInputs& inputs) {
  const bool is_other = inputs.kv.k.block_size == kOtherBlockSize;
  const ElementType type = is_other ? ElementType::kFp16 : ElementType::kFp32;
  return reference::third_party_numerics(type, type);
}

BoundedResult oracle_of(const LawCase& law_case) {
  const PlacedProblem placed(law_case.problem, law_case.placement);
  return reference::bounded_attention(placed.inputs(), numerics_of(placed.inputs()));
}

// a + factor * b, elementwise over both results.
AttentionResult plus(AttentionResult a, double factor, const AttentionResult& b) {
  for (std::size_t i = 0; i < a.out.size(); ++i) a.out[i] += factor * b.out[i];
  for (std::size_t i = 0; i < a.lse_ln.size(); ++i) a.lse_ln[i] += factor * b.lse_ln[i];
  return a;
}

// Right on one side, and wrong by `error` on the other.
Backend wrong_on_other_side(const AttentionResult& error) {
  Backend backend = wrong([error](const PagedAttentionInputs& inputs) {
    AttentionResult result = reference::paged_attention(inputs);
    return inputs.kv.k.block_size == kOtherBlockSize ? plus(result, 1.0, error) : result;
  });
  backend.numerics_of = [](const auto& inputs, const CallOptions&) { return numerics_of(inputs); };
  return backend;
}

Comparison compared(const Backend& backend, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  trial.compare_within_bounds(small_case(), {{"other blocks", other_blocks()}});
  return trial.verdict().comparison;
}

TEST_CASE("an error of 0.99 times both bounds passes, one of 1.01 times fails in each element") {
  const BoundedResult base = oracle_of(small_case());
  const BoundedResult other = oracle_of(other_blocks());
  for (const BoundKind kind : {BoundKind::kWorstCase, BoundKind::kProbabilistic}) {
    const bool is_worst_case = kind == BoundKind::kWorstCase;
    const AttentionResult both = plus(is_worst_case ? base.worst_case : base.probabilistic, 1.0,
                                      is_worst_case ? other.worst_case : other.probabilistic);
    const AttentionResult none(both.num_rows, both.num_heads, both.head_dim);
    const auto with_error = [&](double factor) {
      return compared(wrong_on_other_side(plus(none, factor, both)), kind);
    };
    const std::int64_t elements = 4 * 4 * (4 + 1);  // rows, heads, dims and lse
    CHECK(with_error(0.99).elements == elements);
    CHECK(with_error(0.99).mismatches == 0);
    CHECK(with_error(0.99).worst_ratio > 0.98);
    CHECK(with_error(1.01).mismatches == elements);
    CHECK(with_error(-1.01).mismatches == elements);
  }
}

TEST_CASE("a law compares within the bound that it was asked for") {
  const BoundedResult base = oracle_of(small_case());
  const BoundedResult other = oracle_of(other_blocks());
  const AttentionResult between = plus(plus(base.probabilistic, 1.0, other.probabilistic), 0.5,
                                       plus(plus(base.worst_case, 1.0, other.worst_case), -1.0,
                                            plus(base.probabilistic, 1.0, other.probabilistic)));
  const Backend backend = wrong_on_other_side(between);
  CHECK(compared(backend, BoundKind::kWorstCase).mismatches == 0);
  CHECK(compared(backend, BoundKind::kProbabilistic).mismatches > 0);
}

TEST_CASE("a variant that the backend does not support is named beside those that are compared") {
  Backend choosy = backend_of("naive-fp64");
  choosy.refusal = [](const PagedAttentionInputs& inputs,
                      const CallOptions&) -> std::optional<std::string> {
    if (inputs.kv.k.block_size == kOtherBlockSize) return "blocks are too large";
    return std::nullopt;
  };
  for (const bool is_within : {true, false}) {
    LawTrial some(choosy, BoundKind::kWorstCase);
    const std::vector<Variant> variants = {{"the same", small_case()}, {"larger", other_blocks()}};
    is_within ? some.compare_within_bounds(small_case(), variants)
              : some.compare_bit_for_bit(small_case(), variants);
    CHECK_FALSE(some.verdict().skipped);
    CHECK(some.verdict().comparison.elements > 0);
    CHECK(some.verdict().skipped_parts == std::vector<std::string>{"larger: blocks are too large"});
  }
  LawTrial none(choosy, BoundKind::kWorstCase);
  none.compare_within_bounds(small_case(), {{"larger", other_blocks()}});
  CHECK(none.verdict().skipped == "larger: blocks are too large");
  CHECK(none.verdict().skipped_parts.empty());
  LawTrial base(choosy, BoundKind::kWorstCase);
  base.compare_within_bounds(other_blocks(), {{"smaller", small_case()}});
  CHECK(base.verdict().skipped == "blocks are too large");
}

TEST_CASE("sums of bounds are taken element by element") {
  AttentionResult a(1, 1, 2);
  a.out = {1, 2};
  a.lse_ln = {3};
  AttentionResult b(1, 1, 2);
  b.out = {0.25, 0.5};
  b.lse_ln = {0.125};
  const AttentionResult sum = sum_of(a, b);
  CHECK(sum.out == std::vector<double>{1.25, 2.5});
  CHECK(sum.lse_ln == std::vector<double>{3.125});
}

}  // namespace
}  // namespace recto::verify
