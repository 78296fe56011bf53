// Every kernel against the reference, on a pairwise cover of the differences between calls: types,
// layout, head dim, block size, group, and drawn options. RECTO_CASE=cover-ROW:NUMBER tries one
// case; RECTO_FULL=1 forty times as many.

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/cases/pairwise_cover.h"
#include "verify/drawn_cases.h"
#include "verify/kernels/kernel_backends.h"
#include "verify/law.h"
#include "verify/law_runner.h"

namespace recto::verify {
namespace {

constexpr std::uint64_t kCasesPerRow = 7;
// Counts distinct cases.
constexpr std::int64_t kCasesWanted = 500;
constexpr std::int64_t kCasesWantedFull = 10'000;

constexpr std::int64_t kHeadDims[] = {64, 80, 96, 128, 192, 256};
constexpr std::int64_t kBlockSizes[] = {1, 2, 4, 8, 16, 32, 48, 64, 128, 256, 512};
constexpr std::int64_t kGroups[] = {1, 2, 4, 8, 17};
constexpr KvLayout kLayouts[] = {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked};

// A row of the cover as a domain: one value for each factor of the cover; the rest is drawn.
CaseDomain domain_of(const std::vector<int>& row) {
  CaseDomain domain;
  domain.types = {kTypePairs[static_cast<std::size_t>(row[0])]};
  domain.layouts = {kLayouts[row[1]]};
  domain.head_dims = {kHeadDims[row[2]]};
  domain.block_sizes = {kBlockSizes[row[3]]};
  domain.groups = {kGroups[row[4]]};
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  // Most kernels are for decode.
  domain.rows = {RowsKind::kDecode, RowsKind::kDecode, RowsKind::kDecode, RowsKind::kMixed};
  domain.num_seqs_max = 2;
  domain.num_kv_heads_max = 2;
  domain.num_rows_max = 4;
  domain.context_max = 70;
  domain.dimensions = Dimensions::kAny;
  return domain;
}

std::vector<DrawnCases> cover() {
  const std::vector<int> levels = {
      static_cast<int>(kTypePairs.size()), static_cast<int>(std::size(kLayouts)),
      static_cast<int>(std::size(kHeadDims)), static_cast<int>(std::size(kBlockSizes)),
      static_cast<int>(std::size(kGroups))};
  std::vector<DrawnCases> sets;
  for (const std::vector<int>& row : pairwise_cover(levels, 2026)) {
    sets.push_back({.name = fmt::format("cover-{}", sets.size()),
                    .count = kCasesPerRow,
                    .times_full = 40,
                    .domain = domain_of(row)});
  }
  return sets;
}

std::vector<Backend> backends() {
  const KernelRun how = {
      .executor = {.schedule = {.policy = simt::SchedulePolicy::kRandomWarp, .seed = 11}}};
  constexpr std::int64_t kSplit = 24;
  constexpr std::int64_t kNoSplits = 100000;
  return {reference_decode_backend(how),      split_decode_backend(how, kSplit),
          gqa_decode_backend(how, kNoSplits), gqa_decode_backend(how, kSplit),
          tma_decode_backend(how, kSplit),    paged_prefill_backend(how)};
}

// Features that must occur in pairs: "window on", "block size 16".
std::vector<std::string> features_of(const CaseSpec& spec) {
  const OptionsSpec& options = spec.options;
  const auto on = [](const char* name, bool is_on) {
    return fmt::format("{} {}", name, is_on ? "on" : "off");
  };
  return {fmt::format("{}/{}", element_type_name(spec.shape.q_type),
                      element_type_name(spec.shape.kv_type)),
          kv_layout_name(spec.placement.layout),
          fmt::format("head dim {}", spec.shape.head_dim_k),
          fmt::format("block size {}", spec.placement.block_size),
          fmt::format("group {}", spec.shape.num_q_heads / spec.shape.num_kv_heads),
          on("softcap", options.softcap > 0),
          on("window", options.window.has_value()),
          on("ALiBi", options.alibi != AlibiFamily::kNone),
          on("sinks", options.sinks != SinkFamily::kNone),
          on("empty context", std::ranges::any_of(spec.sequences, [](const SequenceSpec& sequence) {
               return sequence.context_length == 0;
             }))};
}

// The pairs of features that do not occur together in any case.
std::vector<std::string> missing_pairs(const std::vector<DrawnCases>& sets) {
  std::vector<std::set<std::string>> values;
  std::set<std::pair<std::string, std::string>> met;
  for (const DrawnCases& cases : sets) {
    for (std::uint64_t number = 0; number < cases.count; ++number) {
      const std::vector<std::string> features = features_of(drawn_spec(cases, number));
      values.resize(features.size());
      for (std::size_t i = 0; i < features.size(); ++i) {
        values[i].insert(features[i]);
        for (std::size_t j = 0; j < i; ++j) met.insert({features[j], features[i]});
      }
    }
  }
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      for (const std::string& a : values[j]) {
        for (const std::string& b : values[i]) {
          if (!met.contains({a, b})) missing.push_back(a + ", " + b);
        }
      }
    }
  }
  return missing;
}

TEST_CASE("the cases are a pairwise cover of all factors and options") {
  for (const std::string& pair : missing_pairs(cover())) {
    UNSCOPED_INFO("not met: " << pair);
    CHECK(pair.empty());
  }
}

// Distinct cases by their text, which leaves out random numbers.
std::int64_t distinct_cases(const std::vector<DrawnCases>& sets) {
  std::set<std::string> texts;
  for (const DrawnCases& cases : sets) {
    for (std::uint64_t number = 0; number < cases.count_here(); ++number) {
      CaseSpec spec = drawn_spec(cases, number);
      spec.seed = spec.placement.seed = 0;
      texts.insert(spec.text());
    }
  }
  return static_cast<std::int64_t>(texts.size());
}

TEST_CASE("the cover has at least the wanted number of distinct cases") {
  const std::vector<DrawnCases> sets = cover();
  std::uint64_t drawn = 0;
  for (const DrawnCases& cases : sets) drawn += cases.count_here();
  const std::int64_t distinct = distinct_cases(sets);
  std::cout << drawn << " cases in " << sets.size() << " rows of the cover, " << distinct
            << " distinct\n";
  CHECK(distinct >= (is_full_run() ? kCasesWantedFull : kCasesWanted));
}

CaseSource one_after_the_other(const std::vector<DrawnCases>& sets, const CaseChoice& choice) {
  std::vector<CaseSource> sources;
  for (const DrawnCases& cases : sets) sources.push_back(drawn_cases(cases, choice));
  return [sources, at = std::size_t{0}]() mutable -> std::optional<DescribedCase> {
    for (; at < sources.size(); ++at) {
      if (std::optional<DescribedCase> next = sources[at]()) return next;
    }
    return std::nullopt;
  };
}

TEST_CASE("every kernel is right on a pairwise cover") {
  const std::vector<DrawnCases> sets = cover();
  const Result<CaseChoice> asked = asked_cases(sets);
  REQUIRE(asked.status() == Status::ok());
  const LawReport whole =
      run_laws({oracle_comparison()}, backends(), one_after_the_other(sets, asked.value()),
               {.bound_kind = BoundKind::kProbabilistic});
  whole.print(std::cout);
  CHECK(whole.failed() == 0);
  if (asked.value().set) return;
  for (const LawCount& count : whole.counts) {
    INFO(count.backend);
    CHECK(count.ran() >= 25);
  }
}

}  // namespace
}  // namespace recto::verify
