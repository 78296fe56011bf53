// Each canary must be caught by the oracle comparison and by its named laws; the right computation
// beside them by nobody. Prints the table.

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/error_bound.h"
#include "reference/numerics.h"
#include "reference/rounding.h"
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
    for (const LawCase& law_case : cases()) {
      auto placed = std::make_unique<const PlacedProblem>(law_case.problem, law_case.placement);
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

bool law_catches(const Law& law, const Backend& backend, const LawCase& law_case) {
  if (law.why_not_applicable(law_case)) return false;
  return !law.check(backend, law_case, BoundKind::kHard).comparison.passed();
}

struct Catches {
  // Cases, by the oracle: within the hard bound of fp64; and of kernels, within both.
  int fp64 = 0;
  int kernel_hard = 0;
  int kernel_sharp = 0;
  std::set<std::string> laws;
};

Catches catches(const Canary& canary) {
  const Backend backend = canary_backend(canary.name, canary.fault);
  Catches found;
  for (const JudgedCase& judged : judged_cases()) {
    const PagedAttentionInputs& inputs = judged.placed->inputs();
    const reference::AttentionResult seen = backend.run(inputs);
    const reference::AttentionResult kernel = stored(seen, inputs.q.type);
    const auto is_caught = [&inputs](const reference::AttentionResult& result,
                                     const reference::BoundedResult& oracle,
                                     const reference::AttentionResult& bound) {
      return compare(inputs, result, oracle.exact, bound).passed() ? 0 : 1;
    };
    found.fp64 += is_caught(seen, judged.fp64, judged.fp64.hard);
    found.kernel_hard += is_caught(kernel, judged.kernel, judged.kernel.hard);
    found.kernel_sharp += is_caught(kernel, judged.kernel, judged.kernel.sharp);
  }
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
  CHECK(found.fp64 == 0);
  CHECK(found.kernel_hard == 0);
  CHECK(found.kernel_sharp == 0);
  CHECK(found.laws == std::set<std::string>());
}

TEST_CASE("no canary survives the oracle, nor the laws named for it") {
  std::printf("cases of %d that the oracle catches, and laws\n", static_cast<int>(kCases));
  std::printf("%-28s %5s %12s %13s   %s\n", "canary", "fp64", "kernel, hard", "kernel, sharp",
              "laws that catch it");
  CHECK(canaries().size() == 12);
  for (const Canary& canary : canaries()) {
    INFO(canary.name);
    const Catches found = catches(canary);
    std::string laws;
    for (const std::string& law : found.laws) laws += (laws.empty() ? "" : ", ") + law;
    std::printf("%-28s %5d %12d %13d   %s\n", canary.name.c_str(), found.fp64, found.kernel_hard,
                found.kernel_sharp, laws.empty() ? "-" : laws.c_str());
    CHECK(found.fp64 > 0);
    CHECK(found.kernel_hard > 0);
    CHECK_FALSE(canary.laws.empty());
    // What a kernel is allowed hides few of the cases that fp64 shows.
    CHECK(2 * found.kernel_sharp >= found.fp64);
    for (const std::string& law : canary.laws) {
      INFO(law);
      CHECK(found.laws.count(law) == 1);
    }
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace recto::verify
