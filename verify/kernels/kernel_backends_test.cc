// The decode kernels on the executor: the oracle and every law over drawn cases, under several
// schedules. RECTO_CASE=SET:NUMBER tries one case of one of the sets small, large and perturbed.

#include "verify/kernels/kernel_backends.h"

#include <fmt/format.h>

#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/drawn_cases.h"
#include "verify/kernels/device_call.h"
#include "verify/law.h"
#include "verify/laws/laws.h"
#include "verify/laws_over_cases.h"

namespace recto::verify {
namespace {

// All that the kernels support, at small sizes.
CaseDomain small_domain() {
  CaseDomain domain;
  domain.rows = {RowsKind::kDecode};
  domain.head_dims = {1, 2, 3, 5, 8, 16, 20};
  domain.groups = {1, 2, 3, 4};
  domain.num_seqs_max = 3;
  domain.num_kv_heads_max = 2;
  domain.context_max = 100;
  return domain;
}

// Head dims of models, and contexts longer than one round of all warps.
CaseDomain large_domain() {
  CaseDomain domain = small_domain();
  domain.head_dims = {64, 80, 96, 128, 192, 255, 256};
  domain.block_sizes = {1, 2, 4, 8, 16, 32, 64, 80, 128, 256, 512};
  domain.context_max = 700;
  return domain;
}

DrawnCases small_cases() {
  return {.name = "small",
          .count = 24,
          .times_full = 50,
          .domain = small_domain(),
          .stream = "kernels"};
}
DrawnCases large_cases() {
  return {.name = "large",
          .count = 16,
          .times_full = 25,
          .domain = large_domain(),
          .stream = "kernels"};
}
DrawnCases perturbed_cases() {
  return {.name = "perturbed",
          .count = 40,
          .times_full = 20,
          .domain = small_domain(),
          .stream = "kernels"};
}

std::vector<std::uint64_t> bits_of(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

KernelRun run_with(simt::SchedulePolicy policy) {
  return {.executor = {.schedule = {.policy = policy, .seed = 7}}};
}

// A sequence has one query row, so there is nothing to chunk; paged decode has no splits.
bool is_put_to(const std::string& law, const Backend& backend) {
  return law != "chunking" && (law != "split_size" || backend.capabilities.takes_split_size);
}

void expect_all_laws_hold(const std::vector<Law>& laws, const std::vector<Backend>& backends,
                          const DrawnCases& cases) {
  const std::optional<LawReport> report =
      expect_laws_hold(laws, backends, {{small_cases(), large_cases(), perturbed_cases()}, cases});
  if (!report) return;
  for (std::size_t i = 0; i < report->counts.size(); ++i) {
    const LawCount& count = report->counts[i];
    INFO(count.law << " on " << count.backend);
    const bool is_put = is_put_to(count.law, backends[i % backends.size()]);
    // A backend must not pass by skipping.
    const auto least = static_cast<std::int64_t>(cases.count_here() / 3);
    CHECK((is_put ? count.ran() >= least : count.ran() == 0));
  }
}

TEST_CASE("the decode kernels keep every law and agree with the oracle") {
  std::vector<Law> laws = all_laws();
  laws.push_back(oracle_comparison());
  // In reverse order: a thread that reads too early finds NaN.
  expect_all_laws_hold(laws, kernel_backends(run_with(simt::SchedulePolicy::kReverse)),
                       small_cases());
}

TEST_CASE("decode kernels agree with the oracle at the head dims of models, under every schedule") {
  std::vector<Backend> backends;
  for (const simt::SchedulePolicy policy : simt::kSchedulePolicies) {
    for (Backend& backend : kernel_backends(run_with(policy))) {
      backend.name += fmt::format(" {}", simt::schedule_policy_name(policy));
      backends.push_back(std::move(backend));
    }
  }
  expect_all_laws_hold({oracle_comparison()}, backends, large_cases());
}

// A GPU's expf, logf and tanhf differ from this machine's.
TEST_CASE(
    "decode kernels agree with the oracle if functions err by up to their documented errors") {
  std::vector<Backend> backends;
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    KernelRun how = run_with(simt::SchedulePolicy::kInOrder);
    how.executor.arithmetic = {.fast_math = simt::FastMath::kPerturbed, .fast_math_seed = seed};
    for (Backend& backend : kernel_backends(how)) {
      backend.name += fmt::format(" perturbed by {}", seed);
      backends.push_back(std::move(backend));
    }
  }
  expect_all_laws_hold({oracle_comparison()}, backends, perturbed_cases());
}

TEST_CASE("perturbed functions change bits of results") {
  if (runs_on_gpu()) RECTO_SKIP("the functions of a GPU err as they do");
  KernelRun perturbed;
  perturbed.executor.arithmetic.fast_math = simt::FastMath::kPerturbed;
  const std::vector<Backend> exact = kernel_backends({});
  const std::vector<Backend> backends = kernel_backends(perturbed);
  for (std::size_t i = 0; i < backends.size(); ++i) {
    std::int64_t changed = 0;
    for (std::uint64_t number = 0; number < 20; ++number) {
      const DescribedCase drawn = drawn_case(small_cases(), number);
      const PlacedProblem placed(drawn.law_case.problem, drawn.law_case.placement);
      changed += bits_of(result_of(exact[i].call(placed.inputs())).out) !=
                 bits_of(result_of(backends[i].call(placed.inputs())).out);
    }
    INFO(backends[i].name);
    CHECK(changed > 0);
  }
}

// The elements of a row are summed in one order, wherever they are.
TEST_CASE("no bit of a result depends on the layout") {
  DrawnCases cases{.name = "layouts", .count = 20, .domain = small_domain(), .stream = "kernels"};
  cases.domain.head_dims = {16, 32, 48};
  std::int64_t compared = 0;
  for (std::uint64_t number = 0; number < cases.count; ++number) {
    const DescribedCase drawn = drawn_case(cases, number);
    for (const Backend& backend : kernel_backends({})) {
      std::vector<reference::AttentionResult> results;
      for (const KvLayout layout :
           {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
        Placement placement = drawn.law_case.placement;
        placement.layout = layout;
        const PlacedProblem placed(drawn.law_case.problem, placement);
        results.push_back(result_of(backend.call(placed.inputs())));
      }
      INFO(backend.name << ", case " << number);
      for (const auto& result : results) {
        CHECK(bits_of(result.out) == bits_of(results[0].out));
        CHECK(bits_of(result.lse_ln) == bits_of(results[0].lse_ln));
        ++compared;
      }
    }
  }
  CHECK(compared == 20 * 2 * 3);
}

TEST_CASE("decode backends name the inputs that they do not serve") {
  const CaseDomain served = small_domain();
  CaseDomain wide = served;
  wide.head_dims = {257};
  wide.layouts = {KvLayout::kTokenMajor};
  CaseDomain prefill = served;
  prefill.rows = {RowsKind::kBeyondContext};
  const std::pair<CaseDomain, std::string> refused[] = {
      {wide, "kv.k.head_dim: expected at most 256, got 257"},
      {prefill, "not exactly one query row per sequence"}};
  for (const Backend& backend : kernel_backends({})) {
    const auto why_unsupported = [&](const CaseDomain& domain) {
      const LawCase law_case =
          drawn_case({.name = "served", .count = 1, .domain = domain, .stream = "kernels"}, 0)
              .law_case;
      return backend.why_unsupported(PlacedProblem(law_case.problem, law_case.placement).inputs());
    };
    CHECK(why_unsupported(served) == std::nullopt);
    for (const auto& [domain, why] : refused) CHECK(why_unsupported(domain) == why);
  }
}

}  // namespace
}  // namespace recto::verify
