// Runs one law on all backends that `recto verify` lists for the executor, for campaigns that ask
// which law alone kills a mutant. RECTO_LAW_ALONE names the law, of attention or of moves of K and
// V; "alone: names of laws" prints them. Accesses to memory are not checked, so that what fails is
// the law, or what the executor always checks.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/backend_list.h"
#include "verify/block_manager/engine_tables_law.h"
#include "verify/drawn_cases.h"
#include "verify/law.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

// For each backend, the number of cases to which the law applies, and of those drawn to find them.
constexpr std::int64_t kCasesHeld = 4;
constexpr std::uint64_t kCasesDrawn = 80;

// Small, and every backend serves some of it.
CaseDomain small_domain() {
  CaseDomain domain;
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.head_dims = {8, 64, 80, 128};
  domain.groups = {1, 3, 8, 16};
  return domain;
}

std::vector<ListedBackend> kernels_here() {
  std::vector<ListedBackend> list = backend_list();
  std::erase_if(list, [](const ListedBackend& listed) {
    return listed.kind == BackendKind::kReference || listed.why_not_here;
  });
  return list;
}

std::vector<Law> laws_alone() {
  std::vector<Law> laws = all_laws();
  laws.insert(laws.end(), {engine_tables_law(), oracle_comparison()});
  for (const ListedBackend& listed : kernels_here())
    laws.insert(laws.end(), listed.laws.begin(), listed.laws.end());
  return laws;
}

// Returns the number of cases to which the law applied.
std::int64_t expect_holds(const Law& law, const Backend& backend) {
  const DrawnCases cases = {
      .name = "alone", .count = kCasesDrawn, .domain = small_domain(), .stream = backend.name};
  std::int64_t held = 0;
  for (std::uint64_t number = 0; number < cases.count && held < kCasesHeld; ++number) {
    const LawCase law_case = drawn_case(cases, number).law_case;
    const LawVerdict verdict = verdict_of(law, backend, law_case, BoundKind::kProbabilistic);
    if (verdict.failed()) {
      FAIL(law.name << " on " << backend.name << ": " << verdict.heading() << '\n'
                    << verdict.details());
    }
    held += verdict.skipped ? 0 : 1;
  }
  return held;
}

// Hidden: they are run by name.
TEST_CASE("alone: names of laws", "[.]") {
  for (const Law& law : laws_alone()) std::cout << "law: " << law.name << '\n';
  CHECK_FALSE(all_laws().empty());
}

TEST_CASE("alone: a law", "[.]") {
  const char* const name = std::getenv("RECTO_LAW_ALONE");
  REQUIRE(name != nullptr);
  const std::vector<Law> laws = laws_alone();
  const auto law = std::ranges::find(laws, std::string(name), &Law::name);
  REQUIRE(law != laws.end());
  std::int64_t held = 0;
  for (const ListedBackend& listed : kernels_here()) {
    if (!why_never(*law, listed.backend)) held += expect_holds(*law, listed.backend);
  }
  CHECK(held > 0);
}

}  // namespace
}  // namespace recto::verify
