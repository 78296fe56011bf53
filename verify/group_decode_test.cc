#include <fmt/format.h>
#include <iostream>
#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/drawn_case.h"
#include "verify/generators/case_generator.h"
#include "verify/kernel_backends.h"
#include "verify/law_runner.h"
#include "verify/laws/laws.h"
#include "verify/oracle_comparison.h"
namespace recto::verify {
namespace {
CaseDomain domain() {
  CaseDomain domain;
  domain.types = {{ElementType::kFp32, ElementType::kFp32},
                  {ElementType::kFp16, ElementType::kFp16},
                  {ElementType::kBf16, ElementType::kBf16},
                  {ElementType::kFp16, ElementType::kE4m3},
                  {ElementType::kBf16, ElementType::kE5m2}};
  domain.layouts = {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked};
  domain.rows = {RowsKind::kDecode};
  domain.head_dims = {64, 80, 96, 128, 192, 256};
  domain.value_head_dim = ValueHeadDim::kSameAsKeys;
  domain.groups = {1, 2, 3, 4, 8, 17};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.context_max = 150;
  return domain;
}
TEST_CASE("prefill") {
  std::uint64_t n = 0;
  const LawReport report =
      run_laws({oracle_comparison()}, {paged_prefill_backend({})},
               [&]() -> std::optional<DescribedCase> {
                 if (n == 100) return std::nullopt;
                 CaseDomain d = domain();
                 d.rows = {kRowsKinds.begin(), kRowsKinds.end()};
                 d.head_dims = {64, 128};
                 d.num_rows_max = 40;
                 RandomStream stream = RandomStream(1).split("p").split(n++);
                 return drawn_case(draw_case(stream, d), fmt::format("prefill case {}", n - 1));
               },
               {.bound_kind = BoundKind::kSharp});
  std::cout << report.table();
  for (const std::string& failure : report.failures) FAIL_CHECK(failure);
}
TEST_CASE("group") {
  std::uint64_t n = 0;
  const LawReport report =
      run_laws({oracle_comparison()}, {group_decode_backend({}, 10000)},
               [&]() -> std::optional<DescribedCase> {
                 if (n == 200) return std::nullopt;
                 RandomStream stream = RandomStream(1).split("g").split(n++);
                 return drawn_case(draw_case(stream, domain()), fmt::format("case {}", n - 1));
               },
               {.bound_kind = BoundKind::kSharp});
  std::cout << report.table();
  for (const std::string& failure : report.failures) FAIL_CHECK(failure);
}
}  // namespace
}  // namespace recto::verify
