// Each canary must be caught by the oracle comparison and by its named laws; the right computation
// beside them by none. Prints the table, with all laws that catch a canary if RECTO_FULL is set.
// RECTO_CASE=canaries:NUMBER tries one case alone; RECTO_CANARY=NAME one canary.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "reference/error_bound.h"
#include "reference/numerics.h"
#include "reference/rounding.h"
#include "verify/comparison.h"
#include "verify/drawn_cases.h"
#include "verify/laws/laws.h"
#include "verify/qa/canary.h"

namespace recto::verify {
namespace {

DrawnCases drawn() {
  CaseDomain domain;
  domain.head_dims = {1, 2, 3, 5, 8};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.num_rows_max = 4;
  domain.context_max = 70;
  return {.name = "canaries", .count = 120, .domain = domain};
}

const CaseChoice& choice() {
  static const Result<CaseChoice> kAsked = asked_cases({drawn()});
  REQUIRE(kAsked.status() == Status::ok());
  return kAsked.value();
}

const std::vector<DescribedCase>& cases() {
  static const std::vector<DescribedCase> kCases = [] {
    std::vector<DescribedCase> all;
    const CaseSource source = drawn_cases(drawn(), choice());
    while (std::optional<DescribedCase> next = source()) all.push_back(std::move(*next));
    return all;
  }();
  return kCases;
}

// A case, and what the oracle holds a result against: as fp64, and as a kernel's.
struct JudgedCase {
  std::unique_ptr<const PlacedProblem> placed;
  reference::BoundedResult fp64;
  reference::BoundedResult kernel;
};

const std::vector<JudgedCase>& judged_cases() {
  static const std::vector<JudgedCase> kJudged = [] {
    const Backend right = canary_backend("right", Fault::kNone);
    std::vector<JudgedCase> judged;
    for (const DescribedCase& described : cases()) {
      auto placed = std::make_unique<const PlacedProblem>(described.law_case.problem,
                                                          described.law_case.placement);
      const PagedAttentionInputs& inputs = placed->inputs();
      reference::BoundedResult fp64 = reference::bounded_attention(inputs, right.numerics(inputs));
      reference::BoundedResult kernel = reference::bounded_attention(
          inputs, reference::third_party_numerics(inputs.q.type, inputs.kv.k.type));
      judged.push_back({std::move(placed), std::move(fp64), std::move(kernel)});
    }
    return judged;
  }();
  return kJudged;
}

// As a kernel stores it: out in q's type, lse in fp32.
reference::AttentionResult stored(reference::AttentionResult result, ElementType q_type) {
  for (double& out : result.out) out = reference::round_to(out, q_type);
  for (double& lse_ln : result.lse_ln) lse_ln = reference::round_to(lse_ln, ElementType::kFp32);
  return result;
}

// Who catches a computation: how many cases, and the first of them.
struct Caught {
  int cases = 0;
  std::string first;  // with its replay

  void add(const DescribedCase& described) {
    if (++cases == 1) first = described.description + "\nreplay\n  " + described.replay;
  }
};

struct Catches {
  // The oracle: within the worst-case bound of fp64; and of kernels, within both.
  Caught fp64;
  Caught kernel_worst_case;
  Caught kernel_probabilistic;
  std::map<std::string, Caught> laws;  // that catch it
};

Catches catches(const Canary& canary) {
  const Backend backend = canary_backend(canary.name, canary.fault);
  Catches found;
  for (std::size_t i = 0; i < cases().size(); ++i) {
    const JudgedCase& judged = judged_cases()[i];
    const PagedAttentionInputs& inputs = judged.placed->inputs();
    const reference::AttentionResult seen = result_of(backend.call(inputs));
    const reference::AttentionResult kernel = stored(seen, inputs.q.type);
    const auto judge = [&](const reference::AttentionResult& result,
                           const reference::BoundedResult& oracle,
                           const reference::AttentionResult& bound, Caught& caught) {
      if (!compare(inputs, result, oracle.exact, bound).passed()) caught.add(cases()[i]);
    };
    judge(seen, judged.fp64, judged.fp64.worst_case, found.fp64);
    judge(kernel, judged.kernel, judged.kernel.worst_case, found.kernel_worst_case);
    judge(kernel, judged.kernel, judged.kernel.probabilistic, found.kernel_probabilistic);
  }
  for (const Law& law : all_laws()) {
    const bool is_named = canary.laws.empty() || std::ranges::count(canary.laws, law.name) > 0;
    if (!is_full_run() && !is_named) continue;
    for (const DescribedCase& described : cases()) {
      const LawVerdict verdict =
          verdict_of(law, backend, described.law_case, BoundKind::kWorstCase);
      if (verdict.skipped || !verdict.failed()) continue;
      found.laws[law.name].add(described);
      break;
    }
  }
  return found;
}

// Past the test's framework, which would wrap the command.
void print_caught(const std::string& who, const Caught& caught) {
  if (caught.cases > 0)
    std::printf("the right computation is caught by %s\n%s\n", who.c_str(), caught.first.c_str());
}

TEST_CASE("the right computation beside the canaries is caught by neither the oracle nor a law") {
  const Catches found = catches({Fault::kNone, "right", {}});
  print_caught("the oracle, as fp64", found.fp64);
  print_caught("the oracle, as a kernel, beyond the worst-case bound", found.kernel_worst_case);
  print_caught("the oracle, as a kernel, beyond the probabilistic bound",
               found.kernel_probabilistic);
  for (const auto& [law, caught] : found.laws) print_caught(law, caught);
  CHECK(found.fp64.cases == 0);
  CHECK(found.kernel_worst_case.cases == 0);
  CHECK(found.kernel_probabilistic.cases == 0);
  CHECK(found.laws.empty());
}

// All, or the one that RECTO_CANARY names.
std::vector<Canary> asked_canaries() {
  const char* name = std::getenv("RECTO_CANARY");
  if (name == nullptr) return canaries();
  std::string expected;
  for (const Canary& canary : canaries()) {
    if (canary.name == name) return {canary};
    expected += canary.name + ", ";
  }
  FAIL("RECTO_CANARY: expected one of " << expected << "got '" << name << "'");
  return {};
}

void print_row(const Canary& canary, const Catches& found) {
  std::string laws;
  for (const auto& [law, caught] : found.laws) laws += (laws.empty() ? "" : ", ") + law;
  std::printf("%-28s %5d %18d %21d   %s\n", canary.name.c_str(), found.fp64.cases,
              found.kernel_worst_case.cases, found.kernel_probabilistic.cases,
              laws.empty() ? "-" : laws.c_str());
}

// Where someone who must catch it does not: how to see it alone.
void expect_caught(const Canary& canary, const std::string& by, bool is_caught) {
  INFO(canary.name << ", by " << by);
  CHECK(is_caught);
  if (is_caught) return;
  const char* target = std::getenv("TEST_TARGET");
  std::printf("canary '%s' survives %s\nreplay\n  ./bazelw test '--test_env=RECTO_CANARY=%s' %s\n",
              canary.name.c_str(), by.c_str(), canary.name.c_str(),
              target == nullptr ? "<this test>" : target);
}

TEST_CASE("no canary survives the oracle, nor the laws named for it") {
  CHECK(canaries().size() == 19);
  std::printf("cases of %d that the oracle catches, and laws\n", static_cast<int>(cases().size()));
  std::printf("%-28s %5s %18s %21s   %s\n", "canary", "fp64", "kernel, worst-case",
              "kernel, probabilistic",
              is_full_run() ? "laws that catch it" : "laws that must catch it, and do");
  for (const Canary& canary : asked_canaries()) {
    const Catches found = catches(canary);
    print_row(canary, found);
    CHECK_FALSE(canary.laws.empty());
    if (choice().number) continue;  // one case need not show each fault
    expect_caught(canary, "the oracle, as fp64", found.fp64.cases > 0);
    expect_caught(canary, "the oracle, as a kernel", found.kernel_worst_case.cases > 0);
    // What a kernel is allowed hides few of the cases that fp64 shows.
    expect_caught(canary, "the probabilistic bound of kernels in half the cases",
                  2 * found.kernel_probabilistic.cases >= found.fp64.cases);
    for (const std::string& law : canary.laws)
      expect_caught(canary, law, found.laws.count(law) == 1);
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace recto::verify
