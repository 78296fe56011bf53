// Size limits hold for cases of serving size, and for smaller cases of the same kind.

#include <algorithm>
#include <cstdint>

#include "bazel/testing/catch.h"
#include "verify/cases/case_spec.h"
#include "verify/serving_cases.h"

namespace recto::verify {
namespace {

constexpr std::uint64_t kCases = 24;  // per kind

std::int64_t most_rows(const CaseSpec& spec) {
  std::int64_t most = 0;
  for (const SequenceSpec& sequence : spec.sequences) most = std::max(most, sequence.num_rows);
  return most;
}

TEST_CASE("limits bound the drawn sizes, and larger limits draw larger sizes") {
  for (const std::int64_t limit : {1, 2, 9, 40}) {
    for (const ServingKind& kind :
         serving_kinds({.num_seqs_max = limit, .num_q_heads_max = limit, .num_rows_max = limit})) {
      for (std::uint64_t number = 0; number < kCases; ++number) {
        const CaseSpec spec = serving_spec(kind, number, ServingValues::kAny);
        CAPTURE(kind.cases.name, spec);
        CHECK(std::ssize(spec.sequences) <= limit);
        CHECK(spec.shape.num_q_heads <= limit);
        CHECK(most_rows(spec) <= limit);
      }
    }
  }
  std::size_t sequences = 0;
  std::int64_t q_heads = 0;
  std::int64_t rows = 0;
  for (const ServingKind& kind :
       serving_kinds({.num_seqs_max = 900, .num_q_heads_max = 300, .num_rows_max = 1000})) {
    for (std::uint64_t number = 0; number < kCases; ++number) {
      const CaseSpec spec = serving_spec(kind, number, ServingValues::kAny);
      sequences = std::max(sequences, spec.sequences.size());
      q_heads = std::max(q_heads, spec.shape.num_q_heads);
      rows = std::max(rows, most_rows(spec));
    }
  }
  CHECK(sequences > 700);
  CHECK(q_heads == 300);
  CHECK(rows > 800);
}

TEST_CASE("contexts stay within the limit, and a smaller case of the same kind is small") {
  for (const std::int64_t context_max : {1, 2, 100, 513}) {
    for (const ServingKind& kind : serving_kinds({.context_max = context_max})) {
      for (std::uint64_t number = 0; number < kCases; ++number) {
        const CaseSpec spec = serving_spec(kind, number, ServingValues::kAny);
        CHECK(spec.longest_context() <= context_max);
        const CaseSpec small = smaller_case_of_same_kind(spec);
        CHECK(check_case(small).is_ok());
        CHECK(small.longest_context() <= 9);
        CHECK(small.shape == spec.shape);
      }
    }
  }
}

}  // namespace
}  // namespace recto::verify
