// Cases of serving size have the stated sizes, reach every band of sizes, and are affordable.

#include "verify/serving_cases.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/cases/case_spec.h"

namespace recto::verify {
namespace {

constexpr std::uint64_t kCases = 24;  // per kind
constexpr std::uint64_t kSeeds = 20;

std::vector<CaseSpec> cases_of(const std::string& name) {
  const std::vector<ServingKind> kinds = serving_kinds({});
  const auto found =
      std::ranges::find(kinds, name, [](const auto& kind) { return kind.cases.name; });
  REQUIRE(found != kinds.end());
  std::vector<CaseSpec> specs;
  for (std::uint64_t number = 0; number < kCases; ++number)
    specs.push_back(serving_spec(*found, number, ServingValues::kAny));
  return specs;
}

std::int64_t most_rows(const CaseSpec& spec) {
  std::int64_t most = 0;
  for (const SequenceSpec& sequence : spec.sequences) most = std::max(most, sequence.num_rows);
  return most;
}

TEST_CASE("each kind of case has the large size that it is named for") {
  for (const CaseSpec& spec : cases_of("long-context")) {
    CHECK(spec.longest_context() > 2048);
    CHECK(spec.longest_context() <= 4096);
  }
  for (const char* kind : {"many-sequences", "serving-batch", "many-chunks"})
    for (const CaseSpec& spec : cases_of(kind)) CHECK(spec.sequences.size() > 32);
  for (const CaseSpec& spec : cases_of("short-sequences")) {
    CHECK(spec.sequences.size() > 128);
    CHECK(spec.sequences.size() <= 256);
  }
  for (const CaseSpec& spec : cases_of("many-heads")) {
    CHECK(spec.shape.num_kv_heads > 16);
    CHECK(spec.shape.num_q_heads <= 128);
  }
  for (const CaseSpec& spec : cases_of("serving-batch"))
    CHECK((spec.shape.num_q_heads >= 96 && spec.shape.num_kv_heads == 8));
  for (const CaseSpec& spec : cases_of("long-prompt")) CHECK(spec.num_rows() > 256);
}

// A size at which a kernel may fail; each pass through the kinds must contain such a case.
struct Band {
  const char* what;
  bool (*has)(const CaseSpec& spec);
};

// Whether a sequence has a number of rows within these limits behind at least so many tokens.
bool has_chunk(const CaseSpec& spec, std::int64_t rows_min, std::int64_t rows_max,
               std::int64_t prefix_min) {
  return std::ranges::any_of(spec.sequences, [&](const SequenceSpec& sequence) {
    return sequence.num_rows >= rows_min && sequence.num_rows <= rows_max &&
           sequence.context_length - sequence.num_rows >= prefix_min;
  });
}

// Head dims that are not multiples of 16.
bool has_odd_dims(const CaseSpec& spec) {
  return spec.shape.head_dim_k > 32 && spec.shape.head_dim_k % 16 != 0 &&
         spec.shape.head_dim_v == spec.shape.head_dim_k;
}

bool is_decode(const CaseSpec& spec) {
  return std::ranges::all_of(spec.sequences,
                             [](const SequenceSpec& sequence) { return sequence.num_rows == 1; });
}

bool has_peaks(const CaseSpec& spec) {
  return spec.k == FloatFamily::kPeakedEnds && spec.shape.num_kv_heads >= 4 &&
         spec.longest_context() > 1024;
}

constexpr Band kBands[] = {
    {"32 or more query heads over 8 KV heads beyond 1024 tokens",
     [](const CaseSpec& spec) {
       return is_decode(spec) && spec.shape.num_kv_heads == 8 && spec.shape.group() >= 4 &&
              spec.longest_context() > 1024;
     }},
    {"several KV heads beyond 2048 tokens",
     [](const CaseSpec& spec) {
       return is_decode(spec) && spec.shape.num_kv_heads > 1 && spec.longest_context() > 2048;
     }},
    {"a group of 17 to 32",
     [](const CaseSpec& spec) { return spec.shape.group() > 16 && spec.shape.group() <= 32; }},
    {"a group of 33 to 64",
     [](const CaseSpec& spec) { return spec.shape.group() > 32 && spec.shape.group() <= 64; }},
    {"a group beyond 64", [](const CaseSpec& spec) { return spec.shape.group() > 64; }},
    {"more than 64 query heads", [](const CaseSpec& spec) { return spec.shape.num_q_heads > 64; }},
    {"more than 16 KV heads", [](const CaseSpec& spec) { return spec.shape.num_kv_heads > 16; }},
    {"33 sequences", [](const CaseSpec& spec) { return spec.sequences.size() > 32; }},
    {"129 sequences", [](const CaseSpec& spec) { return spec.sequences.size() > 128; }},
    {"a chunk of 13 to 127 rows", [](const CaseSpec& spec) { return has_chunk(spec, 13, 127, 0); }},
    {"128 rows behind 256 tokens",
     [](const CaseSpec& spec) { return has_chunk(spec, 128, 512, 256); }},
    {"a prompt beyond 256 rows", [](const CaseSpec& spec) { return has_chunk(spec, 257, 512, 0); }},
    {"more than 128 rows behind a decode, in a group of four or more",
     [](const CaseSpec& spec) {
       return spec.shape.num_kv_heads > 1 && spec.shape.group() >= 4 &&
              spec.sequences.back().num_rows > 128 &&
              std::ranges::count(spec.sequences, 1, &SequenceSpec::num_rows) > 0;
     }},
    {"rows of several heads in a wide group",
     [](const CaseSpec& spec) { return spec.shape.group() >= 16 && most_rows(spec) >= 4; }},
    {"decode with a window of 64 tokens and more that begins behind 2048 tokens, within a block",
     [](const CaseSpec& spec) {
       const std::int64_t begin = spec.longest_context() - spec.options.window.value_or(0);
       return is_decode(spec) && spec.options.window >= 64 && begin > 2048 &&
              begin % spec.placement.block_size != 0;
     }},
    {"a chunk of 13 to 64 rows behind 2048 tokens",
     [](const CaseSpec& spec) { return has_chunk(spec, 13, 64, 2048); }},
    {"2 to 8 rows behind 2000 tokens, in a batch",
     [](const CaseSpec& spec) {
       return spec.sequences.size() >= 3 && has_chunk(spec, 2, 8, 2000) && most_rows(spec) <= 8;
     }},
    {"rows behind 1280 tokens, and a window much shorter than these, longer than a block",
     [](const CaseSpec& spec) {
       return has_chunk(spec, 13, 64, 1280) && spec.options.window > spec.placement.block_size &&
              3 * *spec.options.window < spec.longest_context();
     }},
    {"13 rows behind 16 sequences and more, the last of which has none",
     [](const CaseSpec& spec) {
       return spec.sequences.size() > 16 && spec.sequences.back().num_rows >= 13 &&
              spec.sequences[spec.sequences.size() - 2].num_rows == 0;
     }},
    {"rows among sequences that have keys alone, and sequences that have nothing",
     [](const CaseSpec& spec) {
       const auto count = [&](bool has_keys) {
         return std::ranges::count_if(spec.sequences, [&](const SequenceSpec& sequence) {
           return sequence.num_rows == 0 && (sequence.context_length > 0) == has_keys;
         });
       };
       return count(true) >= 2 && count(false) >= 4 && spec.num_rows() > 24;
     }},
    {"an odd head dim, decode",
     [](const CaseSpec& spec) { return is_decode(spec) && has_odd_dims(spec); }},
    {"an odd head dim, chunk",
     [](const CaseSpec& spec) { return most_rows(spec) >= 13 && has_odd_dims(spec); }},
    {"a negative scale, decode",
     [](const CaseSpec& spec) { return is_decode(spec) && spec.options.scale < 0; }},
    {"all scores about -10,000 beyond 2048 tokens, decode",
     [](const CaseSpec& spec) {
       return is_decode(spec) && spec.longest_context() > 2048 && spec.options.scale < 0 &&
              spec.k == FloatFamily::kOutlierDim && score_bound(spec) > 9999.0;
     }},
    {"one key that outdoes all others beyond 1024 tokens, in each of 4 heads, decode",
     [](const CaseSpec& spec) { return is_decode(spec) && has_peaks(spec); }},
    {"one key that outdoes all others beyond 1024 tokens, in each of 4 heads, chunk",
     [](const CaseSpec& spec) { return has_chunk(spec, 2, 16, 1024) && has_peaks(spec); }},
    {"scales of K and of V for each of 17 KV heads and more",
     [](const CaseSpec& spec) {
       return spec.shape.num_kv_heads > 16 && spec.options.k_scales == ScaleKind::kPerKvHead &&
              spec.options.v_scales == ScaleKind::kPerKvHead;
     }},
    {"a negative scale, chunk",
     [](const CaseSpec& spec) { return most_rows(spec) >= 13 && spec.options.scale < 0; }}};

TEST_CASE("one pass through the kinds has every band of sizes, whatever the seed") {
  std::vector<ServingKind> kinds = serving_kinds({});
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<CaseSpec> pass;
    for (ServingKind& kind : kinds) {
      kind.cases.seed = seed;
      pass.push_back(serving_spec(kind, seed, ServingValues::kEveryKeyMatters));
    }
    for (const Band& band : kBands) {
      CAPTURE(seed, band.what);
      CHECK(std::ranges::any_of(pass, band.has));
    }
  }
}

TEST_CASE(
    "cases in which every key matters draw only values and options that give each key weight") {
  for (const ServingKind& kind : serving_kinds({})) {
    for (std::uint64_t number = 0; number < kCases; ++number) {
      const CaseSpec spec = serving_spec(kind, number, ServingValues::kEveryKeyMatters);
      const bool is_low = kind.trait == ServingTrait::kLowScores;
      const bool is_own = is_low || kind.trait == ServingTrait::kPeakedEnds;
      for (const FloatFamily family : {spec.v, is_low ? spec.v : spec.q, is_own ? spec.v : spec.k})
        CHECK((family == FloatFamily::kUniform || family == FloatFamily::kNormal));
      CHECK(spec.options.alibi == AlibiFamily::kNone);
      CHECK(spec.options.window.has_value() == (kind.trait == ServingTrait::kWindow));
      CHECK(4 * spec.shared_prefix <= spec.longest_context());
    }
  }
}

TEST_CASE("sizes stay within those that the README of this folder names") {
  for (const ServingKind& kind : serving_kinds({})) {
    for (std::uint64_t number = 0; number < kCases; ++number) {
      const CaseSpec spec = serving_spec(kind, number, ServingValues::kEveryKeyMatters);
      CAPTURE(kind.cases.name, spec);
      CHECK((spec.longest_context() <= 4096 && most_rows(spec) <= 512));
      CHECK((spec.sequences.size() <= 256 && spec.shape.num_q_heads <= 128));
      CHECK((spec.shape.num_kv_heads <= 32 && spec.shape.head_dim_k <= 256));
      CHECK((spec.shape.head_dim_v <= 256 && spec.placement.block_size <= 512));
      if (!spec.options.window) continue;
      const bool is_chunk = kind.cases.name == "window-chunks";
      const std::int64_t window = *spec.options.window;
      CHECK((window >= (is_chunk ? 85 : 193) && window <= (is_chunk ? 642 : 1281)));
      CHECK(spec.longest_context() - window >= (is_chunk ? 900 : 2049));
      CHECK((spec.longest_context() - window) % 16 != 0);
    }
  }
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

TEST_CASE("a case takes the oracle two seconds at most, and a pass five, by the work that it is") {
  constexpr std::int64_t kSecond = 200'000'000;  // of work, at five nanoseconds
  constexpr std::uint64_t kPasses = 6;
  std::int64_t work = 0;
  for (const ServingKind& kind : serving_kinds({})) {
    for (std::uint64_t number = 0; number < kPasses; ++number) {
      CAPTURE(kind.cases.name, number);
      const auto own = make_problem(serving_spec(kind, number, ServingValues::kAny)).work();
      CHECK(own <= 2 * kSecond);
      work += own;
    }
  }
  CHECK(work <= static_cast<std::int64_t>(kPasses) * 5 * kSecond);
}

TEST_CASE("the longest sequence can be moved last, in table rows with padding") {
  for (const ServingKind& kind : serving_kinds({})) {
    for (std::uint64_t number = 0; number < kCases; ++number) {
      const CaseSpec drawn = serving_spec(kind, number, ServingValues::kAny);
      const CaseSpec spec = with_longest_last(drawn);
      CHECK(check_case(spec).is_ok());
      CHECK(spec.sequences.back().context_length == drawn.longest_context());
      CHECK(spec.placement.table_padding > 0);
      if (kind.cases.name == "long-context") CHECK(spec.sequences.size() == 2);
    }
  }
}

}  // namespace
}  // namespace recto::verify
