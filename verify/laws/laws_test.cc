// Every law on every backend of the reference, over cases drawn by a fixed seed. They pass within
// the sharp bounds, hence within the hard ones. RECTO_LAW_CASE=NUMBER tries one case alone.

#include "verify/laws/laws.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <set>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "verify/drawn_case.h"
#include "verify/generators/case_generator.h"
#include "verify/law_runner.h"
#include "verify/oracle_comparison.h"

namespace recto::verify {
namespace {

constexpr std::uint64_t kSeed = 2026;
constexpr std::uint64_t kCases = 300;
// Of them, each law must say something of at least so many, on a backend that takes all types; and
// of so many where a backend takes one type of q.
constexpr std::int64_t kLeastCases = 40;
constexpr std::int64_t kLeastCasesOfType = 8;

CaseDomain small_domain() {
  CaseDomain domain;
  domain.head_dims = {1, 2, 3, 5, 8, 16};
  domain.groups = {1, 2, 3, 4};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.num_rows_max = 6;
  return domain;
}

DescribedCase numbered_case(std::uint64_t number) {
  RandomStream stream = RandomStream(kSeed).split("laws").split(number);
  const CaseSpec spec = draw_case(stream, small_domain());
  return drawn_case(
      spec,
      fmt::format("./bazelw test --test_env=RECTO_LAW_CASE={} //verify/laws:laws_test", number));
}

CaseSource cases(std::uint64_t begin, std::uint64_t end) {
  return [next = begin, end]() mutable -> std::optional<DescribedCase> {
    if (next == end) return std::nullopt;
    return numbered_case(next++);
  };
}

// Those of the whole run: the number of one case asked for, or all.
CaseSource cases_asked_for() {
  if (const char* number = std::getenv("RECTO_LAW_CASE")) {
    const std::uint64_t one = std::strtoull(number, nullptr, 10);
    return cases(one, one + 1);
  }
  return cases(0, std::getenv("RECTO_FULL") == nullptr ? kCases : 10 * kCases);
}

bool is_fp64(const std::string& backend) {
  return backend == "naive-fp64" || backend == "online-fp64";
}

// Naive attention has no states to merge, and neither fp64 backend splits.
bool is_put_to(const std::string& law, const std::string& backend) {
  if (backend == "naive-fp64" && law.rfind("merge_", 0) == 0) return false;
  return law != "split_size" || !is_fp64(backend);
}

TEST_CASE("every law, and the oracle, hold of every backend of the reference") {
  std::vector<Law> laws = all_laws();
  laws.push_back(oracle_comparison());
  const LawReport report =
      run_laws(laws, reference_backends(), cases_asked_for(), {.bound_kind = BoundKind::kSharp});
  std::cout << report.table();
  for (const std::string& failure : report.failures) FAIL_CHECK(failure);
  CHECK(report.passed());
  if (std::getenv("RECTO_LAW_CASE") != nullptr) return;
  for (const LawCount& count : report.counts) {
    INFO(count.law << " on " << count.backend);
    const std::int64_t least = is_fp64(count.backend) ? kLeastCases : kLeastCasesOfType;
    if (is_put_to(count.law, count.backend))
      CHECK(count.ran() >= least);
    else
      CHECK(count.ran() == 0);
  }
}

TEST_CASE("laws have different names, and a statement each") {
  std::set<std::string> names;
  for (const Law& law : all_laws()) {
    CHECK(names.insert(law.name).second);
    CHECK_FALSE(law.statement.empty());
  }
  CHECK(names.size() == 18);
}

}  // namespace
}  // namespace recto::verify
