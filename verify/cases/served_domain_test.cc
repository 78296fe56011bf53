#include "verify/cases/served_domain.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::verify {
namespace {

CaseDomain all_sizes() {
  CaseDomain domain;
  for (const std::int64_t dim : {64, 80, 96, 128, 192, 256}) domain.head_dims.push_back(dim);
  return domain;
}

bool is_decode(const CaseSpec& spec) {
  return std::ranges::all_of(spec.sequences,
                             [](const SequenceSpec& sequence) { return sequence.num_rows == 1; });
}

// A typical kernel, with a single value of each option. Checks them in its own order.
std::optional<std::string> why_not_by_one_kernel(const CaseSpec& spec) {
  if (spec.placement.layout != KvLayout::kHeadMajor) return "layout";
  if (spec.shape.kv_type != ElementType::kBf16) return "type of the cache";
  if (spec.options.alibi != AlibiFamily::kNone) return "ALiBi";
  if (spec.shape.head_dim_k != 128) return "head dim";
  if (spec.shape.head_dim_v != spec.shape.head_dim_k) return "head dim of V";
  if (!is_decode(spec)) return "rows";
  if (spec.placement.block_size != 16)
    return "expected blocks of 16, got " + std::to_string(spec.placement.block_size);
  if (spec.options.softcap != 0 || spec.options.window) return "softcap or window";
  if (spec.options.scale < 0) return "a scale below 0";
  if (spec.shape.group() != 4 && spec.shape.group() != 8) return "group";
  Gaps gaps = spec.placement.gaps;
  gaps.q_rows = 0;
  if (gaps != Gaps{}) return "strides";
  return std::nullopt;
}

TEST_CASE("the served domain of a kernel for one of everything is found, with its options") {
  int asked = 0;
  const std::optional<CaseDomain> served =
      served_domain(all_sizes(), [&asked](const CaseSpec& spec) {
        ++asked;
        CHECK(check_case(spec) == Status::ok());
        return why_not_by_one_kernel(spec);
      });
  REQUIRE(served);
  CHECK(served->types == std::vector<TypePair>{{ElementType::kBf16, ElementType::kBf16}});
  CHECK(served->layouts == std::vector{KvLayout::kHeadMajor});
  CHECK(served->rows == std::vector{RowsKind::kDecode});
  CHECK(served->head_dims == std::vector<std::int64_t>{128});
  CHECK(served->value_head_dim == ValueHeadDim::kSameAsKeys);
  CHECK(served->groups == std::vector<std::int64_t>{4, 8});
  CHECK(served->block_sizes == std::vector<std::int64_t>{16});
  CHECK_FALSE(served->has_softcap);
  CHECK_FALSE(served->has_window);
  CHECK_FALSE(served->has_alibi);
  CHECK(served->has_sinks);
  CHECK(served->has_non_causal);
  CHECK_FALSE(served->has_negative_scale);
  CHECK(served->has_padding);
  CHECK(served->gaps == std::vector<Gap>{&Gaps::q_rows});
  CHECK(asked < 700);
}

TEST_CASE("every case of a found domain is served if no refusal depends on two choices") {
  const std::optional<CaseDomain> served = served_domain(all_sizes(), why_not_by_one_kernel);
  REQUIRE(served);
  RandomStream stream(1);
  for (int i = 0; i < 200; ++i) {
    const CaseSpec spec = draw_case(stream, *served);
    INFO(spec);
    CHECK(why_not_by_one_kernel(spec) == std::nullopt);
  }
}

TEST_CASE("a domain that is served entirely is found entirely") {
  const CaseDomain domain = all_sizes();
  const auto served = served_domain(domain, [](const CaseSpec&) { return std::nullopt; });
  REQUIRE(served);
  CHECK(served->types == domain.types);
  CHECK(served->head_dims == domain.head_dims);
  CHECK(served->value_head_dim == ValueHeadDim::kOwn);
  CHECK(served->has_scales);
  CHECK(served->has_negative_scale);
  CHECK(served->gaps == domain.gaps);
  CHECK(served->gap_units == domain.gap_units);
}

TEST_CASE("gaps are limited to the alignment that is served, in one tensor or in all") {
  CaseDomain domain = all_sizes();
  domain.gap_units = {kGapUnits.begin(), kGapUnits.end()};
  for (const auto& odd : {std::vector{&Gaps::v_heads}, every_gap()}) {
    const auto served =
        served_domain(domain, [&odd](const CaseSpec& spec) -> std::optional<std::string> {
          for (const Gap gap : odd)
            if (spec.placement.gaps.*gap % 4 != 0) return "strides that are no multiple of 4";
          return std::nullopt;
        });
    REQUIRE(served);
    CHECK(served->gaps == domain.gaps);
    CHECK(served->gap_units == std::vector<std::int64_t>{16, 8, 4});
  }
}

TEST_CASE("an option that the backend requires is found") {
  const auto served =
      served_domain(all_sizes(), [](const CaseSpec& spec) -> std::optional<std::string> {
        if (spec.options.sinks == SinkFamily::kNone) return "no sinks";
        return std::nullopt;
      });
  REQUIRE(served);
  CHECK(served->has_sinks);
}

TEST_CASE("a backend that serves nothing is asked a bounded number of times") {
  int asked = 0;
  CHECK_FALSE(served_domain(all_sizes(), [&asked](const CaseSpec&) {
    return std::optional(std::string(static_cast<std::size_t>(++asked), 'x'));  // never the same
  }));
  CHECK(asked <= 1000);
  CHECK_FALSE(served_domain(all_sizes(), [](const CaseSpec&) { return std::optional("no"); }));
}

}  // namespace
}  // namespace recto::verify
