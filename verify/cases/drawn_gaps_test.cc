#include "verify/cases/drawn_gaps.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/dense_kv_view.h"
#include "verify/cases/case_generator.h"

namespace recto::verify {
namespace {

constexpr int kCases = 1000;

std::vector<CaseSpec> draw_many(const CaseDomain& domain) {
  RandomStream stream(2026);
  std::vector<CaseSpec> specs;
  for (int i = 0; i < kCases; ++i) specs.push_back(draw_case(stream, domain));
  return specs;
}

CaseDomain domain_of_all_units() {
  CaseDomain domain;
  domain.gap_units = {kGapUnits.begin(), kGapUnits.end()};
  return domain;
}

std::int64_t unit_of(const CaseSpec& spec) { return kGapUnits[spec.seed % kGapUnits.size()]; }

// The greatest common divisor of all gaps except those within packs; 0 if there are none.
std::int64_t common_unit(const Gaps& gaps) {
  std::int64_t common = 0;
  for (const GapField& field : kGapFields)
    if (field.gap != &Gaps::k_pack_slots) common = std::gcd(common, gaps.*field.gap);
  return common;
}

TEST_CASE("gaps are multiples of a unit that the case's seed chooses, and all else is the same") {
  const std::vector<CaseSpec> of_first_unit = draw_many({});
  const std::vector<CaseSpec> specs = draw_many(domain_of_all_units());
  std::map<std::int64_t, int> of_no_larger_unit;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    CAPTURE(specs[i]);
    CaseSpec expected = of_first_unit[i];
    expected.placement.gaps = specs[i].placement.gaps;
    REQUIRE(specs[i] == expected);
    REQUIRE(check_case(specs[i]) == Status::ok());
    const std::int64_t unit = unit_of(specs[i]);
    const std::int64_t common = common_unit(specs[i].placement.gaps);
    REQUIRE(common % unit == 0);
    of_no_larger_unit[unit] += common % (2 * unit) != 0;
  }
  for (const std::int64_t unit : kGapUnits) {
    CAPTURE(unit);
    CHECK(of_no_larger_unit[unit] > 15);
  }
}

TEST_CASE("by default, all gaps are multiples of 16, and those within packs of 16 bytes") {
  int count = 0;
  for (const CaseSpec& spec : draw_many({})) {
    REQUIRE(common_unit(spec.placement.gaps) % 16 == 0);
    const std::int64_t within = spec.placement.gaps.k_pack_slots;
    REQUIRE((within == 0 || within == packed_width_k(spec.shape.kv_type)));
    count += within > 0;
  }
  CHECK(count > 15);
}

TEST_CASE("only packs of K have gaps between slots, of a unit and of a pack's width at most") {
  CaseDomain domain = domain_of_all_units();
  std::map<std::int64_t, int> widths;
  for (const CaseSpec& spec : draw_many(domain)) {
    const std::int64_t gap = spec.placement.gaps.k_pack_slots;
    if (gap == 0) continue;
    CAPTURE(spec);
    REQUIRE(spec.placement.layout == KvLayout::kPacked);
    REQUIRE(gap == std::min(unit_of(spec), packed_width_k(spec.shape.kv_type)));
    ++widths[gap];
  }
  CHECK(widths.size() == kGapUnits.size());
}

}  // namespace
}  // namespace recto::verify
