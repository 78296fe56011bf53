#include "reference/fp32_sum.h"

#include <cmath>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "core/random_stream.h"
#include "reference/accumulation.h"

namespace recto::reference {
namespace {

using Floats = std::vector<float>;

constexpr float kUlp = 0x1p-23F;  // ulp of 1
constexpr Fp32Arithmetic kKeeping;
constexpr Fp32Arithmetic kFlushing{.subnormals = Subnormals::kFlushed};

float sum_of(const Floats& terms, const Accumulation& how) {
  return add_terms(0.0F, terms, how, kKeeping);
}

TEST_CASE("one lane adds term by term, to nearest") {
  CHECK(sum_of({1.0F, kUlp / 2, kUlp / 2}, {}) == 1.0F);
  CHECK(sum_of({kUlp / 2, kUlp / 2, 1.0F}, {}) == 1.0F + kUlp);
  CHECK(add_terms(1.0F, {}, {}, kKeeping) == 1.0F);
}

TEST_CASE("lanes take terms in turn, and a tree adds them up") {
  // The lane that holds 1 loses its term; the other three keep theirs, because the tree adds pairs
  // first.
  CHECK(sum_of({1.0F, kUlp / 2, kUlp / 2, kUlp / 2}, {.lanes = 4}) == 1.0F + kUlp);
  CHECK(sum_of({1.0F, kUlp / 2, kUlp / 2, kUlp / 2}, {.lanes = 2}) == 1.0F + kUlp);
  // A tree over three lanes adds lanes 0 and 1, then lane 2.
  CHECK(sum_of({1.0F, kUlp / 2, kUlp / 2}, {.lanes = 3}) == 1.0F);
  CHECK(sum_of({kUlp / 2, kUlp / 2, 1.0F}, {.lanes = 3}) == 1.0F + kUlp);
  // The initial sum is added last.
  CHECK(add_terms(1.0F, Floats{kUlp / 2, kUlp / 2}, {.lanes = 2}, kKeeping) == 1.0F + kUlp);
  CHECK(add_terms(1.0F, Floats{kUlp / 2, kUlp / 2}, {}, kKeeping) == 1.0F);
  CHECK(sum_of({1.0F, 2.0F}, {.lanes = 32}) == 3.0F);
}

TEST_CASE("a lane takes the terms of one step together") {
  const Floats ones(6, 1.0F);
  const Floats terms = {1.0F, kUlp / 2, kUlp / 2, kUlp / 2, 1.0F, kUlp / 2};
  // Steps (1, half), (half, half), (1, half): lane 0 holds 1 + 1, lane 1 an ulp of 1, which is
  // half an ulp of 2.
  CHECK(add_products(0.0F, terms, ones, {.lanes = 2, .terms_per_step = 2}, kKeeping) == 2.0F);
  // Term by term: lane 0 holds 1 + half + 1 = 2, lane 1 three halves, which round to an ulp of 2.
  CHECK(add_products(0.0F, terms, ones, {.lanes = 2}, kKeeping) == 2.0F + 2 * kUlp);
}

TEST_CASE("truncating lanes cut in their steps, the tree rounds to nearest") {
  const Accumulation truncating{.terms_per_step = 2, .rounding = AccumulatorRounding::kTruncate};
  const Floats ones(4, 1.0F);
  const Floats terms = {1.0F, kUlp * 0.75F, kUlp * 0.75F, 0.0F};
  CHECK(add_products(0.0F, terms, ones, truncating, kKeeping) == 1.0F);
  Accumulation with_lanes = truncating;
  with_lanes.lanes = 2;
  CHECK(add_products(0.0F, terms, ones, with_lanes, kKeeping) == 1.0F + kUlp);
}

TEST_CASE("subnormal products and sums are kept or flushed") {
  const Floats tiny = {0x1p-100F};
  const Floats factor = {0x1p-27F};
  CHECK(add_products(0.0F, tiny, factor, {}, kKeeping) == 0x1p-127F);
  CHECK(add_products(0.0F, tiny, factor, {}, kFlushing) == 0.0F);
  const Floats cancelling = {0x1.8p-126F, -0x1p-126F};
  for (const std::int64_t lanes : {1, 2}) {
    CHECK(add_terms(0.0F, cancelling, {.lanes = lanes}, kKeeping) == 0x1p-127F);
    CHECK(add_terms(0.0F, cancelling, {.lanes = lanes}, kFlushing) == 0.0F);
  }
}

TEST_CASE("sums stay within what their Accumulation allows, and use a part of it") {
  RandomStream stream(3);
  for (const AccumulatorRounding rounding :
       {AccumulatorRounding::kNearest, AccumulatorRounding::kTruncate}) {
    for (const std::int64_t lanes : {1, 2, 3, 8, 32}) {
      const Accumulation how{.lanes = lanes,
                             .terms_per_step = rounding == AccumulatorRounding::kNearest ? 1 : 4,
                             .rounding = rounding,
                             .product_roundings = 1};
      double worst = 0;
      for (int trial = 0; trial < 300; ++trial) {
        Floats a;
        Floats b;
        double exact = 0;
        double magnitudes = 0;
        for (int term = 0; term < 200; ++term) {
          a.push_back(static_cast<float>(std::ldexp(std::floor(stream.next_unit() * 2048), -11)));
          b.push_back(static_cast<float>(std::ldexp(std::floor(stream.next_unit() * 2048), -11)));
          exact += static_cast<double>(a.back()) * b.back();
          magnitudes += std::abs(static_cast<double>(a.back()) * b.back());
        }
        const double error = std::abs(add_products(0.0F, a, b, how, kKeeping) - exact);
        // The initial sum costs one more addition.
        worst = std::max(worst, error / (sum_error(how, 200, 1, 1).worst_case * magnitudes));
      }
      CHECK(worst <= 1);
      CHECK(worst > 0.01);
    }
  }
}

TEST_CASE("a sum without lanes, without steps, or of unequal factors is refused") {
  const Floats one = {1.0F};
  const Floats two = {1.0F, 1.0F};
  CHECK_THROWS_AS(add_terms(0.0F, one, {.lanes = 0}, kKeeping), ContractFailure);
  CHECK_THROWS_AS(add_terms(0.0F, one, {.terms_per_step = 0}, kKeeping), ContractFailure);
  CHECK_THROWS_AS(add_products(0.0F, one, two, {}, kKeeping), ContractFailure);
  CHECK_NOTHROW(add_products(0.0F, one, one, {.lanes = 1}, kKeeping));
}

}  // namespace
}  // namespace recto::reference
