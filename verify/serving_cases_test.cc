// Cases of serving size are as large as they say, in one way at a time, and affordable.

#include "verify/serving_cases.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/case_work.h"
#include "verify/generators/case_spec.h"

namespace recto::verify {
namespace {

constexpr std::uint64_t kCases = 24;  // of each kind

std::vector<CaseSpec> cases_of(const std::string& kind) {
  const std::vector<DrawnCases> kinds = serving_cases({});
  const auto found = std::ranges::find(kinds, kind, &DrawnCases::name);
  REQUIRE(found != kinds.end());
  std::vector<CaseSpec> specs;
  for (std::uint64_t number = 0; number < kCases; ++number)
    specs.push_back(drawn_spec(*found, number));
  return specs;
}

TEST_CASE("each kind is large in its way") {
  for (const CaseSpec& spec : cases_of("long-context")) {
    CHECK(spec.longest_context() > 512);
    CHECK(spec.longest_context() <= 4096);
  }
  for (const char* kind : {"many-sequences", "serving-batch"})
    for (const CaseSpec& spec : cases_of(kind)) CHECK(spec.sequences.size() > 32);
  for (const CaseSpec& spec : cases_of("short-sequences")) {
    CHECK(spec.sequences.size() > 128);
    CHECK(spec.sequences.size() <= 256);
  }
  for (const CaseSpec& spec : cases_of("many-heads")) {
    CHECK(spec.shape.num_kv_heads > 4);
    CHECK(spec.shape.num_q_heads <= 128);
  }
  for (const CaseSpec& spec : cases_of("wide-groups")) CHECK(spec.shape.group() >= 16);
  for (const CaseSpec& spec : cases_of("serving-batch"))
    CHECK((spec.shape.num_q_heads >= 32 && spec.shape.num_kv_heads == 8));
  for (const CaseSpec& spec : cases_of("long-prompt")) CHECK(spec.num_rows() >= 128);
}

// How many cases of all kinds there are of which it holds.
template <typename Predicate>
std::ptrdiff_t cases_with(const Predicate& predicate) {
  std::ptrdiff_t found = 0;
  for (const DrawnCases& kind : serving_cases({}))
    found += std::ranges::count_if(cases_of(kind.name), predicate);
  return found;
}

TEST_CASE("what lies beyond a size that kernels may stop at is in one case of twelve at least") {
  const auto least = static_cast<std::ptrdiff_t>(serving_cases({}).size() * kCases / 12);
  CHECK(cases_with([](const CaseSpec& spec) { return spec.shape.group() > 8; }) >= least);
  CHECK(cases_with([](const CaseSpec& spec) { return spec.shape.group() > 16; }) >= least);
  CHECK(cases_with([](const CaseSpec& spec) { return spec.shape.num_q_heads > 64; }) >= least);
  CHECK(cases_with([](const CaseSpec& spec) { return spec.sequences.size() > 64; }) >= least);
  CHECK(cases_with([](const CaseSpec& spec) {
          return spec.placement.block_size > 256 && spec.longest_context() > 256;
        }) >= least);
  CHECK(cases_with([](const CaseSpec& spec) { return spec.shape.num_kv_heads > 16; }) >= least / 2);
}

TEST_CASE("limits narrow what is drawn, and widen it") {
  for (const std::int64_t limit : {1, 2, 9, 40}) {
    for (const DrawnCases& kind :
         serving_cases({.num_seqs_max = limit, .num_q_heads_max = limit})) {
      for (std::uint64_t number = 0; number < kCases; ++number) {
        const CaseSpec spec = drawn_spec(kind, number);
        CAPTURE(kind.name, spec);
        CHECK(std::ssize(spec.sequences) <= limit);
        CHECK(spec.shape.num_q_heads <= limit);
      }
    }
  }
  std::size_t sequences = 0;
  std::int64_t q_heads = 0;
  for (const DrawnCases& kind : serving_cases({.num_seqs_max = 900, .num_q_heads_max = 300})) {
    for (std::uint64_t number = 0; number < kCases; ++number) {
      const CaseSpec spec = drawn_spec(kind, number);
      sequences = std::max(sequences, spec.sequences.size());
      q_heads = std::max(q_heads, spec.shape.num_q_heads);
    }
  }
  CHECK(sequences > 700);
  CHECK(q_heads == 300);
}

TEST_CASE("lengths lie at thresholds and beside them, and a few of a batch are long") {
  int beside = 0;
  for (const CaseSpec& spec : cases_of("long-context")) {
    const std::int64_t rest = (spec.sequences[0].context_length + 1) % 256;
    beside += rest <= 2 ? 1 : 0;
  }
  CHECK(beside >= 6);
  std::int64_t shorter = 0;
  std::int64_t sequences = 0;
  for (const CaseSpec& spec : cases_of("many-sequences")) {
    for (const SequenceSpec& sequence : spec.sequences) {
      shorter += 8 * sequence.context_length < spec.longest_context() ? 1 : 0;
      ++sequences;
    }
  }
  CHECK(2 * shorter > sequences);
}

TEST_CASE("a case takes the oracle a second at most, by the work that it is") {
  constexpr std::int64_t kSecond = 200'000'000;  // of work, at five nanoseconds
  for (const DrawnCases& kind : serving_cases({})) {
    for (std::uint64_t number = 0; number < kCases; ++number) {
      CAPTURE(kind.name, number);
      CHECK(case_work(make_problem(drawn_spec(kind, number))) <= kSecond);
    }
  }
}

TEST_CASE("the longest sequence can be had last, in rows that are wider than it takes") {
  for (const DrawnCases& kind : serving_cases({})) {
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
    for (const DrawnCases& kind : serving_cases({.context_max = context_max})) {
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
