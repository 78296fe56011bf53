// Cases of serving size are as large as they say, in one way at a time, and affordable.

#include "verify/serving_cases.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/case_work.h"
#include "verify/generators/case_spec.h"

namespace recto::verify {
namespace {

constexpr std::uint64_t kCases = 24;  // of each kind

std::vector<CaseSpec> cases_of(const std::string& kind, std::int64_t context_max) {
  const std::vector<DrawnCases> kinds = serving_cases(context_max);
  const auto found = std::ranges::find(kinds, kind, &DrawnCases::name);
  REQUIRE(found != kinds.end());
  std::vector<CaseSpec> specs;
  for (std::uint64_t number = 0; number < kCases; ++number)
    specs.push_back(drawn_spec(*found, number));
  return specs;
}

TEST_CASE("each kind is large in its way") {
  for (const CaseSpec& spec : cases_of("long-context", kServingContext)) {
    CHECK(spec.longest_context() > 512);
    CHECK(spec.longest_context() <= kServingContext);
  }
  for (const char* kind : {"many-sequences", "serving-batch"}) {
    for (const CaseSpec& spec : cases_of(kind, kServingContext)) {
      CHECK(spec.sequences.size() > 32);
      CHECK(spec.sequences.size() <= 40);
    }
  }
  for (const CaseSpec& spec : cases_of("many-heads", kServingContext))
    CHECK(spec.shape.num_kv_heads > 4);
  for (const CaseSpec& spec : cases_of("serving-batch", kServingContext))
    CHECK((spec.shape.num_q_heads == 32 && spec.shape.num_kv_heads == 8));
  for (const CaseSpec& spec : cases_of("long-prompt", kServingContext))
    CHECK(spec.num_rows() >= 128);
}

TEST_CASE("lengths lie at thresholds and beside them, and a few of a batch are long") {
  int beside = 0;
  for (const CaseSpec& spec : cases_of("long-context", kServingContext)) {
    const std::int64_t rest = (spec.sequences[0].context_length + 1) % 256;
    beside += rest <= 2 ? 1 : 0;
  }
  CHECK(beside >= 6);
  std::int64_t shorter = 0;
  std::int64_t sequences = 0;
  for (const CaseSpec& spec : cases_of("many-sequences", kServingContext)) {
    for (const SequenceSpec& sequence : spec.sequences) {
      shorter += 8 * sequence.context_length < spec.longest_context() ? 1 : 0;
      ++sequences;
    }
  }
  CHECK(2 * shorter > sequences);
}

TEST_CASE("a case takes the oracle a second at most, by the work that it is") {
  constexpr std::int64_t kSecond = 200'000'000;  // of work, at five nanoseconds
  for (const DrawnCases& kind : serving_cases(kServingContext)) {
    for (std::uint64_t number = 0; number < kCases; ++number) {
      CAPTURE(kind.name, number);
      CHECK(case_work(make_problem(drawn_spec(kind, number))) <= kSecond);
    }
  }
}

TEST_CASE("the longest sequence can be had last, in rows that are wider than it takes") {
  for (const DrawnCases& kind : serving_cases(kServingContext)) {
    for (std::uint64_t number = 0; number < kCases; ++number) {
      const CaseSpec drawn = drawn_spec(kind, number);
      const CaseSpec spec = with_longest_last(drawn);
      CHECK(check_case(spec).is_ok());
      CHECK(spec.sequences.back().context_length == drawn.longest_context());
      CHECK(spec.placement.table_padding > 0);
      if (kind.name == "long-context") CHECK(spec.sequences.size() == 2);
    }
  }
}

TEST_CASE("no context is longer than asked for, and a likeness is small") {
  for (const std::int64_t context_max : {1, 2, 100, 513}) {
    for (const DrawnCases& kind : serving_cases(context_max)) {
      for (std::uint64_t number = 0; number < kCases; ++number) {
        const CaseSpec spec = drawn_spec(kind, number);
        CHECK(spec.longest_context() <= context_max);
        const CaseSpec small = small_likeness(spec);
        CHECK(check_case(small).is_ok());
        CHECK(small.longest_context() <= 9);
        CHECK(small.shape == spec.shape);
      }
    }
  }
}

}  // namespace
}  // namespace recto::verify
