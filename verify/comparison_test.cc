#include "verify/comparison.h"

#include <cmath>
#include <limits>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;
using reference::AttentionResult;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

// Two sequences: three rows at the end of a context of 6, and two rows, the first of which precedes
// its context of one token. Two heads, three dims, blocks of 4 slots.
class TwoSequences {
 public:
  TwoSequences() {
    inputs_.q.num_rows = 5;
    inputs_.q.num_heads = 2;
    inputs_.kv.k.block_size = inputs_.kv.v.block_size = 4;
    inputs_.kv.v.head_dim = 3;
    inputs_.block_table = {.data = table_.data(), .num_seqs = 2, .max_blocks = 2, .row_stride = 3};
    inputs_.query_start = query_start_;
    inputs_.context_length = context_length_;
  }
  TwoSequences(const TwoSequences&) = delete;
  TwoSequences& operator=(const TwoSequences&) = delete;

  const PagedAttentionInputs& inputs() const { return inputs_; }

 private:
  std::vector<std::int32_t> table_ = {7, 5, -1, 2, -1, -1};
  std::vector<std::int32_t> query_start_ = {0, 3, 5};
  std::vector<std::int32_t> context_length_ = {6, 1};
  PagedAttentionInputs inputs_;
};

AttentionResult filled(double value) {
  AttentionResult result(5, 2, 3);
  result.out.assign(result.out.size(), value);
  result.lse_ln.assign(result.lse_ln.size(), value);
  return result;
}

// Compares a single element, out[0, 0, 0].
Comparison compare_one(double seen, double expected, double bound) {
  const TwoSequences sequences;
  ElementComparer comparer(sequences.inputs());
  comparer.expect_within({}, {.seen = seen, .expected = expected, .bound = bound});
  return comparer.comparison();
}

TEST_CASE("an error equal to the bound passes, and the next number fails") {
  CHECK(compare_one(1.25, 1.0, 0.25).passed());
  CHECK(compare_one(0.75, 1.0, 0.25).passed());
  const Comparison above = compare_one(std::nextafter(1.25, 2.0), 1.0, 0.25);
  REQUIRE(above.mismatches == 1);
  CHECK(above.first->kind == MismatchKind::kBeyondBound);
  CHECK_FALSE(compare_one(std::nextafter(0.75, 0.0), 1.0, 0.25).passed());
  CHECK_FALSE(compare_one(1.25, 1.0, std::nextafter(0.25, 0.0)).passed());
}

TEST_CASE("a bound of zero lets equal values pass, of either zero's sign") {
  CHECK(compare_one(3.0, 3.0, 0.0).passed());
  CHECK(compare_one(-0.0, 0.0, 0.0).passed());
  const Comparison wrong = compare_one(5e-324, 0.0, 0.0);
  REQUIRE(wrong.mismatches == 1);
  CHECK(wrong.first->ratio() == kInf);
}

TEST_CASE("NaN fails whatever the bound, seen or expected") {
  CHECK(compare_one(kNan, 1.0, kInf).first->kind == MismatchKind::kNaN);
  CHECK(compare_one(1.0, kNan, kInf).first->kind == MismatchKind::kNaN);
  CHECK(compare_one(kNan, kNan, 1.0).first->kind == MismatchKind::kNaN);
  CHECK(compare_one(kNan, 1.0, 1.0).worst_ratio == kInf);
}

TEST_CASE("an infinity equals itself alone, whatever the bound") {
  CHECK(compare_one(kInf, kInf, 0.0).passed());
  CHECK(compare_one(-kInf, -kInf, 0.0).passed());
  CHECK(compare_one(kInf, -kInf, kInf).first->kind == MismatchKind::kExpectedInfinity);
  CHECK(compare_one(-3e38, -kInf, kInf).first->kind == MismatchKind::kExpectedInfinity);
  CHECK(compare_one(kInf, 1.0, kInf).first->kind == MismatchKind::kInfinity);
}

TEST_CASE("a bound that is NaN or negative breaks the contract") {
  CHECK_THROWS_AS(compare_one(1.0, 1.0, kNan), ContractFailure);
  CHECK_THROWS_AS(compare_one(1.0, 1.0, -5e-324), ContractFailure);
  CHECK_NOTHROW(compare_one(1.0, 1.0, 0.0));
}

TEST_CASE("an infinite bound of finite numbers breaks the contract: it would let any error pass") {
  CHECK_THROWS_AS(compare_one(2.0, 1.0, kInf), ContractFailure);
  CHECK_THROWS_AS(compare_one(1.0, 1.0, kInf), ContractFailure);
  CHECK_NOTHROW(compare_one(1.0, 1.0, std::numeric_limits<double>::max()));
}

TEST_CASE("NaN fails before its bound is looked up") {
  CHECK(compare_one(kNan, 1.0, kNan).first->kind == MismatchKind::kNaN);
}

TEST_CASE("an infinite output stands for the smallest number that rounds to it") {
  const TwoSequences sequences;
  PagedAttentionInputs inputs = sequences.inputs();
  inputs.q.type = ElementType::kFp16;  // which overflows from 65520 on
  const auto passes = [&inputs](double seen, double expected, double bound) {
    return compare(inputs, filled(seen), filled(expected), filled(bound)).mismatches == 5 * 2;
  };  // lse_ln may not be infinite
  CHECK(passes(kInf, 65500, 20));
  CHECK_FALSE(passes(kInf, 65500, 19));
  CHECK(passes(-kInf, -65500, 20));
  CHECK_FALSE(passes(-kInf, 65500, 20));
}

TEST_CASE("results of another shape than the call's break the contract") {
  const TwoSequences sequences;
  const AttentionResult right = filled(1.0);
  CHECK_THROWS_AS(compare(sequences.inputs(), AttentionResult(4, 2, 3), right, right),
                  ContractFailure);
  CHECK_THROWS_AS(compare_bits(sequences.inputs(), right, AttentionResult(5, 2, 4)),
                  ContractFailure);
  CHECK_NOTHROW(compare(sequences.inputs(), right, right, right));
}

TEST_CASE("first and worst mismatch are located, with the block and slot of the row's own token") {
  const TwoSequences sequences;
  const AttentionResult expected = filled(1.0);
  const AttentionResult bound = filled(0.125);
  AttentionResult seen = expected;
  seen.out_at(0, 1, 2) = 1.125;  // on the bound
  seen.out_at(1, 1, 2) = 1.25;   // position 4: the second block's first slot
  seen.lse_ln[4 * 2 + 1] = 2.0;  // position 0 of the second sequence
  seen.out_at(4, 1, 0) = 1.5;
  const Comparison comparison = compare(sequences.inputs(), seen, expected, bound);
  CHECK(comparison.elements == 5 * 2 * (3 + 1));
  CHECK(comparison.mismatches == 3);
  CHECK(comparison.worst_ratio == 8.0);

  const Mismatch& first = *comparison.first;
  CHECK(first.place.tensor == ComparedTensor::kOut);
  CHECK(first.place.sequence == 0);
  CHECK(first.place.row == 1);
  CHECK(first.place.head == 1);
  CHECK(first.place.dim == 2);
  CHECK(first.block == 5);
  CHECK(first.slot == 0);
  CHECK(first.ratio() == 2.0);

  const Mismatch& worst = *comparison.worst;
  CHECK(worst.place.tensor == ComparedTensor::kLseLn);
  CHECK(worst.place.sequence == 1);
  CHECK(worst.place.row == 1);
  CHECK(worst.place.head == 1);
  CHECK(worst.block == 2);
  CHECK(worst.slot == 0);
  CHECK(worst.ratio() == 8.0);
}

TEST_CASE("a row before its context has no token, hence no block and no slot") {
  const TwoSequences sequences;
  const AttentionResult expected = filled(1.0);
  AttentionResult seen = expected;
  seen.lse_ln[3 * 2] = 0.0;
  const Comparison comparison = compare(sequences.inputs(), seen, expected, filled(0.0));
  REQUIRE(comparison.mismatches == 1);
  CHECK(comparison.first->place.sequence == 1);
  CHECK(comparison.first->place.row == 0);
  CHECK_FALSE(comparison.first->block);
  CHECK_FALSE(comparison.first->slot);
}

TEST_CASE("the worst ratio is that of all elements, wrong or not") {
  const TwoSequences sequences;
  AttentionResult seen = filled(1.0);
  seen.out_at(2, 0, 0) = 1.0625;
  const Comparison comparison = compare(sequences.inputs(), seen, filled(1.0), filled(0.125));
  CHECK(comparison.passed());
  CHECK(comparison.worst_ratio == 0.5);
  CHECK(comparison.text() == "ok: 40 elements, worst error 0.5 of its bound");
}

TEST_CASE("bit for bit: signs of zero and bits of NaN count") {
  const TwoSequences sequences;
  const AttentionResult zeros = filled(0.0);
  AttentionResult seen = zeros;
  CHECK(compare_bits(sequences.inputs(), seen, zeros).passed());
  seen.out_at(3, 1, 1) = -0.0;
  const Comparison comparison = compare_bits(sequences.inputs(), seen, zeros);
  REQUIRE(comparison.mismatches == 1);
  CHECK(comparison.first->kind == MismatchKind::kDifferentBits);
  CHECK(comparison.first->place.dim == 1);
  const AttentionResult nans = filled(kNan);
  CHECK(compare_bits(sequences.inputs(), nans, nans).passed());
  CHECK_FALSE(compare_bits(sequences.inputs(), nans, filled(std::copysign(kNan, -1.0))).passed());
}

TEST_CASE("a sum of comparisons keeps the first mismatch and the worst one") {
  Comparison sum = compare_one(1.0, 1.0, 0.0);
  sum.append(compare_one(1.5, 1.0, 0.25));
  sum.append(compare_one(2.0, 1.0, 0.25));
  sum.append(compare_one(1.75, 1.0, 0.25));
  CHECK(sum.elements == 4);
  CHECK(sum.mismatches == 3);
  CHECK(sum.first->values.seen == 1.5);
  CHECK(sum.worst->values.seen == 2.0);
  CHECK(sum.worst_ratio == 4.0);
}

TEST_CASE("a failed comparison is a readable block") {
  const TwoSequences sequences;
  AttentionResult seen = filled(1.0);
  seen.out_at(1, 1, 2) = 1.25;
  CHECK(compare(sequences.inputs(), seen, filled(1.0), filled(0.125)).text() ==
        "1 of 40 elements are wrong\n"
        "first out[sequence 0, row 1, head 1, dim 2], own token in block 5, slot 0\n"
        "  seen 1.25, expected 1, bound 0.125, ratio 2: beyond the bound\n"
        "worst out[sequence 0, row 1, head 1, dim 2], own token in block 5, slot 0\n"
        "  seen 1.25, expected 1, bound 0.125, ratio 2: beyond the bound");
  seen.out_at(1, 1, 2) = kNan;
  CHECK_THAT(compare(sequences.inputs(), seen, filled(1.0), filled(0.125)).text(),
             ContainsSubstring("seen nan, expected 1, bound 0.125, ratio inf: NaN"));
}

}  // namespace
}  // namespace recto::verify
