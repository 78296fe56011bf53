// One write in four is as long as in engines, with values from the case.

#include "verify/laws/cache_operations/long_write.h"

#include <algorithm>
#include <set>

#include "bazel/testing/catch.h"
#include "verify/drawn_cases.h"
#include "verify/laws/cache_operations/kv_write_case.h"

namespace recto::verify {
namespace {

constexpr std::uint64_t kCases = 200;
const DrawnCases kWrites{.name = "long writes", .count = kCases};

std::int64_t elements_of(const KvWriteCase& write) {
  const KvTensorView& k = write.kv().k;
  return write.num_tokens() * k.num_kv_heads * (k.head_dim + write.kv().v.head_dim);
}

TEST_CASE("one case in four writes up to 4096 tokens more, in one call") {
  std::uint64_t longer = 0;
  std::int64_t most = 0;
  std::uint64_t beyond_1024 = 0;
  for (std::uint64_t number = 0; number < kCases; ++number) {
    const LawCase law_case = drawn_case(kWrites, number).law_case;
    const LongWrite made = with_long_write(law_case);
    if (made.text.empty()) {
      CHECK(made.law_case.problem.num_rows() == law_case.problem.num_rows());
      continue;
    }
    const KvWriteCase write(made.law_case);  // must pass every gate
    const KvWriteCase short_write(law_case);
    CHECK(write.num_tokens() > short_write.num_tokens());
    // A third of the rows is padding.
    CHECK(elements_of(write) <= elements_of(short_write) + kLongWriteElementsMax * 3 / 2 + 1000);
    ++longer;
    most = std::max(most, write.num_tokens());
    beyond_1024 += write.num_tokens() > 1024;
  }
  CHECK(longer > kCases / 6);
  CHECK(longer < kCases / 3);
  CHECK(beyond_1024 > kCases / 12);
  CHECK(most > kLongWriteTokensMax);
}

TEST_CASE("added tokens have the sequence's values and differ; a seed of 0 adds none") {
  LawCase law_case = drawn_case(kWrites, 0).law_case;
  SequenceProblem& only = law_case.problem.sequences.front();
  law_case.problem.shape = {.num_q_heads = 1, .num_kv_heads = 1, .head_dim_k = 2, .head_dim_v = 1};
  law_case.problem.options = {};
  only = {.num_rows = 0, .context_length = 2, .q = {}, .k = {1, 2, 3, 4}, .v = {5, 6}};
  law_case.problem.sequences.resize(1);
  LongWrite made{.law_case = law_case};
  for (law_case.placement.seed = 1; made.text.empty(); ++law_case.placement.seed)
    made = with_long_write(law_case);
  const SequenceProblem& longer = made.law_case.problem.sequences.front();
  CHECK(std::equal(only.k.begin(), only.k.end(), longer.k.begin()));
  CHECK(std::set<float>(longer.k.begin(), longer.k.end()) == std::set<float>{1, 2, 3, 4});
  CHECK(std::set<float>(longer.v.begin(), longer.v.end()) == std::set<float>{5, 6});
  CHECK(longer.num_rows == longer.context_length - 2);
  law_case.placement.seed = 0;
  CHECK(with_long_write(law_case).text.empty());
}

TEST_CASE("a case without tokens is not lengthened") {
  LawCase law_case = drawn_case(kWrites, 0).law_case;
  for (SequenceProblem& sequence : law_case.problem.sequences) {
    sequence.context_length = 0;
    sequence.k.clear();
    sequence.v.clear();
  }
  for (law_case.placement.seed = 1; law_case.placement.seed < 50; ++law_case.placement.seed)
    CHECK(with_long_write(law_case).text.empty());
}

}  // namespace
}  // namespace recto::verify
