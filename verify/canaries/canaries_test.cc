// Each canary must be caught by the oracle comparison and by its named laws; the right computation
// beside them by nobody. Prints the table.

#include <cstdio>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/error_bound.h"
#include "verify/canaries/canary.h"
#include "verify/comparison.h"
#include "verify/generators/case_generator.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

constexpr std::uint64_t kSeed = 2026;
constexpr std::uint64_t kCases = 120;

const std::vector<LawCase>& cases() {
  static const std::vector<LawCase> kDrawn = [] {
    CaseDomain domain;
    domain.head_dims = {1, 2, 3, 5, 8};
    domain.num_seqs_max = 3;
    domain.num_kv_heads_max = 2;
    domain.num_rows_max = 4;
    domain.context_max = 70;
    const RandomStream streams(kSeed);
    std::vector<LawCase> drawn;
    for (std::uint64_t number = 0; number < kCases; ++number) {
      RandomStream stream = streams.split(number);
      const CaseSpec spec = draw_case(stream, domain);
      drawn.push_back({make_problem(spec), spec.placement});
    }
    return drawn;
  }();
  return kDrawn;
}

bool oracle_catches(const Backend& backend, const LawCase& law_case) {
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const reference::BoundedResult oracle =
      reference::bounded_attention(placed.inputs(), backend.numerics(placed.inputs()));
  return !compare(placed.inputs(), backend.run(placed.inputs()), oracle.exact, oracle.hard)
              .passed();
}

bool law_catches(const Law& law, const Backend& backend, const LawCase& law_case) {
  if (law.why_not_applicable(law_case)) return false;
  return !law.check(backend, law_case, BoundKind::kHard).comparison.passed();
}

struct Catches {
  int oracle = 0;  // cases
  std::set<std::string> laws;
};

Catches catches(const Canary& canary) {
  const Backend backend = canary_backend(canary.name, canary.fault);
  Catches found;
  for (const LawCase& law_case : cases()) found.oracle += oracle_catches(backend, law_case) ? 1 : 0;
  for (const Law& law : all_laws()) {
    for (const LawCase& law_case : cases()) {
      if (!law_catches(law, backend, law_case)) continue;
      found.laws.insert(law.name);
      break;
    }
  }
  return found;
}

TEST_CASE("the right computation beside the canaries is caught by nobody") {
  const Catches found = catches({Fault::kNone, "right", {}});
  CHECK(found.oracle == 0);
  CHECK(found.laws == std::set<std::string>());
}

TEST_CASE("no canary survives the oracle, nor the laws named for it") {
  std::printf("%-28s %-12s %s\n", "canary", "oracle", "laws that catch it");
  CHECK(canaries().size() == 12);
  for (const Canary& canary : canaries()) {
    INFO(canary.name);
    const Catches found = catches(canary);
    std::string laws;
    for (const std::string& law : found.laws) laws += (laws.empty() ? "" : ", ") + law;
    std::printf("%-28s %3d of %3d   %s\n", canary.name.c_str(), found.oracle,
                static_cast<int>(kCases), laws.empty() ? "-" : laws.c_str());
    CHECK(found.oracle > 0);
    for (const std::string& law : canary.laws) {
      INFO(law);
      CHECK(found.laws.count(law) == 1);
    }
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace recto::verify
