// Runs the kernels of cuda/kernels over a cover of their configurations. Prints the bits of each
// result, one line each, and the number of lines per kernel. The output must be the same for every
// compiler, mode and schedule; sanitizers end the program in their own ways. With taint, reports
// results that depend on slots that no sequence addresses.
//
//   kernel_cover [CASES]
//   kernel_cover schedules  few cases, under four policies with sixteen seeds each, on one OS
//                           thread and on two
//   kernel_cover slot KERNEL   context lengths overstated by one token, within the last block
//   kernel_cover entry KERNEL  the same, where the token is in another block

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/number_in.h"
#include "verify/cases/placed_problem.h"
#include "verify/kernels/kernel_calls.h"
#include "verify/kernels/kernel_cover/attention_cover.h"
#include "verify/kernels/kernel_cover/cache_cover.h"
#include "verify/kernels/kernel_cover/outcome.h"
#include "verify/kernels/kernel_cover/planted_fault.h"
#include "verify/kernels/kernel_cover/taint.h"

namespace recto::verify {
namespace {

Outcome outcome_of(const CacheState& state) {
  return {.kernel = state.kernel,
          .bits = fmt::format("cache {:016x}", bits_of(state.bytes)),
          .taint = state.taint};
}

// Every policy in turn, on one OS thread and then on two.
simt::ExecutorOptions other_schedule(std::uint64_t number) {
  const std::uint64_t turn = number / 4;
  return {.schedule = {.policy = simt::kSchedulePolicies[turn % 4], .seed = number},
          .os_threads = static_cast<unsigned>(1 + turn / 4 % 2)};
}

std::vector<Outcome> cache_outcomes(const simt::ExecutorOptions& how, std::uint64_t number) {
  std::vector<Outcome> outcomes;
  for (const CacheState& state : run_cache_case({.executor = how}, number)) {
    outcomes.push_back(outcome_of(state));
  }
  return outcomes;
}

bool is_fourth(std::uint64_t number) { return number % 4 == 0; }

using Computation = std::function<std::vector<Outcome>(const simt::ExecutorOptions& how)>;

// Runs in order and, if `is_varied`, also under another schedule.
void run_case(std::uint64_t number, bool is_varied, const Computation& compute, Report& report) {
  const std::vector<Outcome> expected = compute({});
  const std::string label = std::to_string(number);
  for (const Outcome& outcome : expected) report.print(label, outcome);
  if (!is_varied) return;
  const simt::ExecutorOptions how = other_schedule(number);
  std::cout << fmt::format("{} {}, seed {}, {} OS threads:\n", number,
                           simt::schedule_policy_name(how.schedule.policy), how.schedule.seed,
                           how.os_threads);
  const std::vector<Outcome> outcomes = compute(how);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    report.compare(label, expected[i], outcomes[i]);
  }
}

void run_attention_case(Covered what, std::uint64_t number, simt::Executor& executor,
                        Report& report) {
  const CaseSpec spec = covered_case(what, number);
  const PlacedProblem placed(make_problem(spec), spec.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  if (what == Covered::kDecode && why_not_decoded(inputs)) return;
  const TaintScope tainted(inputs);
  const auto compute = [&](const simt::ExecutorOptions& how) {
    executor.set_options(how);
    return attention_outcomes(executor, inputs);
  };
  // Few cases are scored.
  run_case(number, is_fourth(number) || !why_not_scored(inputs), compute, report);
}

// Runs under every schedule. Prints the bits of the ordered run, and any differences.
void sweep_case(const std::string& label, const Computation& compute, Report& report) {
  const std::vector<Outcome> expected = compute({});
  std::uint64_t runs = 0;
  for (const simt::SchedulePolicy policy : simt::kSchedulePolicies) {
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
      for (const unsigned os_threads : {1U, 2U}) {
        const auto outcomes =
            compute({.schedule = {.policy = policy, .seed = seed}, .os_threads = os_threads});
        const std::string where = fmt::format("{}, {}, seed {}, {} OS threads", label,
                                              simt::schedule_policy_name(policy), seed, os_threads);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          report.expect_same(where, expected[i], outcomes[i]);
        }
        ++runs;
      }
    }
  }
  for (const Outcome& outcome : expected) {
    report.print(fmt::format("{}, {} schedules:", label, runs), outcome);
  }
}

int run_schedules() {
  simt::Executor executor({});
  Report report;
  const struct {
    Covered what;
    std::uint64_t cases;
  } swept[] = {
      {Covered::kDecode, 5}, {Covered::kGroup, 4}, {Covered::kPrefill, 3}, {Covered::kBlocks, 2}};
  for (const auto& [what, cases] : swept) {
    for (std::uint64_t number = 0; number < cases; ++number) {
      const CaseSpec spec = covered_case(what, number);
      const PlacedProblem placed(make_problem(spec), spec.placement);
      const auto compute = [&](const simt::ExecutorOptions& how) {
        executor.set_options(how);
        return attention_outcomes(executor, placed.inputs());
      };
      sweep_case(fmt::format("{} {}", static_cast<int>(what), number), compute, report);
    }
  }
  for (std::uint64_t number = 0; number < 3; ++number) {
    sweep_case(
        std::to_string(number), [=](const auto& how) { return cache_outcomes(how, number); },
        report);
  }
  report.print_counts();
  return report.exit_status();
}

int run(std::uint64_t cases) {
  simt::Executor executor({});
  Report report;
  for (std::uint64_t number = 0; number < cases; ++number) {
    run_attention_case(Covered::kDecode, number, executor, report);
  }
  for (std::uint64_t number = 0; number < cases / 3; ++number) {
    run_attention_case(Covered::kGroup, number, executor, report);
    run_attention_case(Covered::kPrefill, number, executor, report);
  }
  for (std::uint64_t number = 0; number < cases / 5; ++number) {
    run_attention_case(Covered::kBlocks, number, executor, report);
  }
  for (std::uint64_t number = 0; number < cases / 2; ++number) {
    const auto compute = [=](const auto& how) { return cache_outcomes(how, number); };
    run_case(number, is_fourth(number), compute, report);
  }
  report.print_counts();
  return report.exit_status();
}

}  // namespace
}  // namespace recto::verify

int main(int count, char** arguments) {
  using namespace recto::verify;
  constexpr std::uint64_t kCases = 60;
  const std::string_view what = count > 1 ? arguments[1] : "";
  const std::optional<PlantedFault> fault = planted_fault(what);
  if (fault && count > 2 && is_planted_in(arguments[2])) return run_planted(*fault, arguments[2]);
  if (what == "schedules") return run_schedules();
  if (what.empty()) return run(kCases);
  const std::optional<std::uint64_t> cases = recto::number_in<std::uint64_t>(what);
  if (cases && *cases > 0) return run(*cases);
  std::cerr << "kernel_cover: expected schedules, slot KERNEL, entry KERNEL or a number of cases, "
               "got '"
            << what << "'\n";
  return 2;
}
