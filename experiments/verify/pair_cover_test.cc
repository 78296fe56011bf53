#include "experiments/verify/pair_cover.h"

#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "experiments/verify/case_supply.h"
#include "experiments/verify/serving_supply.h"
#include "verify/serving_cases.h"

namespace recto::experiments {
namespace {

using verify::RowsKind;
using Pairs = std::set<std::size_t>;
using IsServed = std::function<bool(std::size_t, const PairedCase&)>;

void add_pairs(const PairedCase& paired, Pairs& pairs) {
  visit_pairs(paired, [&](std::size_t pair) { pairs.insert(pair); });
}

// Each kernel's pairs: of all cases that it serves.
std::vector<Pairs> pairs_of(const std::vector<PairedCase>& cases, std::size_t num_kernels,
                            const IsServed& is_served) {
  std::vector<Pairs> pairs(num_kernels);
  for (const PairedCase& paired : cases)
    for (std::size_t kernel = 0; kernel < num_kernels; ++kernel)
      if (is_served(kernel, paired)) add_pairs(paired, pairs[kernel]);
  return pairs;
}

TEST_CASE("two values of two fields are a pair of their own") {
  const PairedCase plain{.head_dim = 64, .block_size = 8};
  Pairs pairs;
  add_pairs(plain, pairs);
  CHECK(pairs.size() == 15);  // of six fields
  PairedCase other = plain;
  other.head_dim = 80;
  add_pairs(other, pairs);
  CHECK(pairs.size() == 20);  // five with the head dim
  for (const std::size_t pair : pairs) CHECK(pair < kPairNumbers);
}

TEST_CASE("each kernel meets all pairs that it serves, in few cases") {
  // One serves everything, one only decode, one only chunks of wide heads in 16 bits.
  const IsServed is_served = [](std::size_t kernel, const PairedCase& paired) {
    if (kernel == 1) return paired.rows == RowsKind::kDecode;
    if (kernel == 2)
      return paired.head_dim >= 128 && paired.types.q != ElementType::kFp32 &&
             paired.rows == RowsKind::kChunk;
    return true;
  };
  const KernelsServing serving = [&](const PairedCase& paired) {
    std::vector<std::size_t> kernels;
    for (std::size_t kernel = 0; kernel < 3; ++kernel)
      if (is_served(kernel, paired)) kernels.push_back(kernel);
    return kernels;
  };
  const std::vector<PairedCase> cases = covering_cases(3, serving);
  CHECK(pairs_of(cases, 3, is_served) == pairs_of(every_paired_case(), 3, is_served));
  // Alone, each pair of an option and types takes a case: 42 for each kernel.
  CHECK(cases.size() >= 42);
  CHECK(cases.size() <= 3 * 60);
  CHECK(covering_cases(3, serving) == cases);
  CHECK(covering_cases(1, [](const PairedCase&) { return std::vector<std::size_t>(); }).empty());
}

TEST_CASE("the specification of a paired case has its values, and one option") {
  for (const PairedCase& paired : every_paired_case()) {
    if (paired.types != verify::kTypePairs[1]) continue;
    const verify::CaseSpec spec = spec_of(paired, 2026, {});
    REQUIRE(check_case(spec) == Status::ok());
    REQUIRE(spec.shape.head_dim_k == paired.head_dim);
    REQUIRE(spec.shape.head_dim_v == paired.head_dim);
    REQUIRE(spec.placement.block_size == paired.block_size);
    REQUIRE(spec.placement.layout == paired.layout);
    REQUIRE(spec.types() == paired.types);
    REQUIRE(spec.longest_context() > (paired.block_size < 128 ? 64 : 128));
    REQUIRE((spec.num_rows() > 1) == (paired.rows == RowsKind::kChunk));
    REQUIRE((spec.options.softcap > 0) == (paired.option == PairedOption::kSoftcap));
    REQUIRE(spec.options.window.has_value() == (paired.option == PairedOption::kWindow));
    REQUIRE((spec.options.alibi != verify::AlibiFamily::kNone) ==
            (paired.option == PairedOption::kAlibi));
    REQUIRE((spec.options.sinks != verify::SinkFamily::kNone) ==
            (paired.option == PairedOption::kSinks));
  }
}

PairedOption option_of(const verify::CaseSpec& spec) {
  if (spec.k == verify::FloatFamily::kOutlierDim) return PairedOption::kLowScores;
  if (spec.options.scale < 0) return PairedOption::kNegativeScale;
  if (spec.options.window) return PairedOption::kWindow;
  if (spec.options.alibi != verify::AlibiFamily::kNone) return PairedOption::kAlibi;
  if (spec.options.sinks != verify::SinkFamily::kNone) return PairedOption::kSinks;
  return PairedOption::kSoftcap;
}

// As in a run of the default number of cases.
TEST_CASE("the kernels of the list meet all pairs that they serve by the end of a default run") {
  const Selection selection = select_checks({.backends = "executor", .laws = "oracle"}).value();
  const std::vector<verify::Backend> backends = selection.backends_here();
  std::vector<const verify::Backend*> kernels;
  for (const verify::Backend& backend : backends)
    if (backend.computes_attention()) kernels.push_back(&backend);
  REQUIRE(kernels.size() == 5);

  // Each has its pairs, asked of the kernel itself.
  std::vector<Pairs> servable(kernels.size());
  for (const PairedCase& paired : every_paired_case()) {
    if (paired.option != PairedOption::kSoftcap) continue;
    const verify::CaseSpec small = smaller_case_of_same_kind(spec_of(paired, 7, {}));
    const verify::LawCase asked{make_problem(small), small.placement};
    for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
      if (why_refused_as_placed(*kernels[kernel], asked)) continue;
      for (int option = 0; option < 6; ++option) {
        PairedCase with_option = paired;
        with_option.option = static_cast<PairedOption>(option);
        add_pairs(with_option, servable[kernel]);
      }
    }
  }
  PairCover cover(selection, backends, 2026, {});
  std::vector<Pairs> met(kernels.size());
  std::int64_t count = 0;
  for (std::int64_t drawn = 0; drawn < kDefaultCases; ++drawn) {
    cover.begin_share();
    while (const auto paired = cover.next_of_share()) {
      ++count;
      const verify::CaseSpec& spec = *paired->spec;
      const PairedCase values{.option = option_of(spec),
                              .head_dim = spec.shape.head_dim_k,
                              .block_size = spec.placement.block_size,
                              .layout = spec.placement.layout,
                              .types = spec.types(),
                              .rows = spec.num_rows() > std::ssize(spec.sequences)
                                          ? RowsKind::kChunk
                                          : RowsKind::kDecode};
      for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel)
        if (!why_refused_as_placed(*kernels[kernel], paired->law_case))
          add_pairs(values, met[kernel]);
    }
  }
  std::cout << count << " cases\n";
  CHECK_FALSE(cover.next());  // all of them were
  for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
    INFO(kernels[kernel]->name);
    std::cout << kernels[kernel]->name << ": " << servable[kernel].size() << " pairs\n";
    CHECK_FALSE(servable[kernel].empty());
    CHECK(met[kernel] == servable[kernel]);
  }
}

}  // namespace
}  // namespace recto::experiments
