#include "verify/simt/streams/schedule_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/contract.h"

namespace recto::simt {
namespace {

// The first run without findings. Other runs are compared with it.
struct Baseline {
  Schedule schedule;
  std::vector<SweptOutput> outputs;
};

// If one run that never ends takes longer than this, no other runs follow. It is CPU time, so that
// a busy machine does not change what is found.
constexpr double kHangSecondsMax = 2;

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// "element 7 (of 4 bytes) of out", the first that differs.
std::string difference_text(const SweptOutput& expected, const SweptOutput& output) {
  if (output.name != expected.name || output.bytes.size() != expected.bytes.size()) {
    return fmt::format("output {} of {} bytes, in place of {} of {},", output.name,
                       output.bytes.size(), expected.name, expected.bytes.size());
  }
  const auto [mine, theirs] = std::ranges::mismatch(output.bytes, expected.bytes);
  const auto at = static_cast<std::size_t>(mine - output.bytes.begin());
  return fmt::format("element {} (of {} bytes) of {}", at / output.element_bytes,
                     output.element_bytes, output.name);
}

std::optional<Finding> compare(const Baseline& baseline, const Schedule& schedule,
                               const std::vector<SweptOutput>& outputs,
                               const std::vector<std::string>& kernels) {
  RECTO_CHECK_EQ(outputs.size(), baseline.outputs.size());
  const auto [mine, theirs] = std::ranges::mismatch(outputs, baseline.outputs);
  if (mine == outputs.end()) return std::nullopt;
  Finding finding;
  finding.check = Check::kScheduleDependence;
  finding.kernel = fmt::format("{}", fmt::join(kernels, "', '"));
  finding.what = fmt::format("{} differs between the schedules {{{}}} and {{{}}}",
                             difference_text(*theirs, *mine), schedule_text(baseline.schedule),
                             schedule_text(schedule));
  return finding;
}

// Equal for findings that differ only in thread or instruction.
using Identity = std::tuple<Check, std::string, std::string>;

Identity identity_of(const Finding& finding) {
  // Outputs may differ at many bytes, between many schedules.
  if (finding.check == Check::kScheduleDependence) return {finding.check, "", ""};
  // The place where the kernel is stopped depends on the clock.
  if (finding.check == Check::kNeverEnds) return {finding.check, finding.kernel, ""};
  // One launch may have several, with different buffers.
  if (finding.check == Check::kMissingDependency) return {finding.check, "", finding.what};
  std::string where = finding.place.text();
  // The schedule decides which of two barriers comes first.
  if (finding.check == Check::kBarrierDivergence) {
    std::string other = finding.other_place.text();
    if (other < where) std::swap(where, other);
    where += " " + other;
  }
  return {finding.check, finding.kernel, where.empty() ? finding.what : std::move(where)};
}

}  // namespace

std::string schedule_text(const Schedule& schedule) {
  std::string text =
      fmt::format("{}, seed {}", schedule_policy_name(schedule.policy), schedule.seed);
  if (schedule.preemption_period > 0) {
    text += fmt::format(", preempted at one access in {}", schedule.preemption_period);
  }
  return text;
}

std::string SweepReport::text() const {
  std::string text;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    text +=
        fmt::format("{} (found under {{{}}})\n", findings[i].text(), schedule_text(schedules[i]));
  }
  return text;
}

std::vector<Schedule> all_schedules(std::uint64_t seeds) {
  std::vector<Schedule> all;
  for (const SchedulePolicy policy : kSchedulePolicies) {
    const bool is_random =
        policy == SchedulePolicy::kRandomWarp || policy == SchedulePolicy::kRandomThread;
    for (std::uint64_t seed = 0; seed < (is_random ? seeds : 1); ++seed) {
      all.push_back({.policy = policy, .seed = seed});
    }
  }
  return all;
}

SweepReport sweep_schedules(const ExecutorOptions& options, std::span<const Schedule> schedules,
                            const SweepProgram& program) {
  SweepReport report;
  std::optional<Baseline> baseline;
  std::set<Identity> known;
  bool is_first = true;
  std::set<SchedulePolicy> never_ending;
  bool goes_on = true;
  for (const Schedule& schedule : schedules) {
    if (!goes_on) break;
    if (never_ending.contains(schedule.policy)) continue;
    ExecutorOptions with = options;
    with.schedule = schedule;
    Executor executor(with);
    const double begin = processor_seconds();
    SweptRun run = program(executor);
    const bool is_long = processor_seconds() - begin > kHangSecondsMax;
    if (is_first) report.outputs = run.outputs;
    is_first = false;
    if (run.report.passed() && !baseline) {
      baseline = {schedule, std::move(run.outputs)};
    } else if (run.report.passed()) {
      std::optional<Finding> difference =
          compare(*baseline, schedule, run.outputs, executor.kernels());
      if (difference) run.report.findings.push_back(*std::move(difference));
    }
    for (Finding& finding : run.report.findings) {
      if (finding.check == Check::kNeverEnds) {
        never_ending.insert(schedule.policy);
        goes_on = goes_on && !is_long;
        if (is_long) finding.what += "; no further schedule was run";
      }
      if (!known.insert(identity_of(finding)).second) continue;
      report.findings.push_back(std::move(finding));
      report.schedules.push_back(schedule);
    }
  }
  return report;
}

}  // namespace recto::simt
