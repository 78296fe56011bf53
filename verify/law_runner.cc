#include "verify/law_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace recto::verify {
namespace {

// What the runner does with one law, one backend and one case.
struct Attempt {
  const Law& law;
  const Backend& backend;
  const DescribedCase& described;
  const LawRunOptions& options;
};

void try_case(const Attempt& attempt, LawCount& count, std::vector<std::string>& failures) {
  const LawCase& law_case = attempt.described.law_case;
  if (const std::optional<std::string> why = attempt.law.why_not_applicable(law_case)) {
    ++count.skipped[*why];
    return;
  }
  const LawVerdict verdict =
      attempt.law.check(attempt.backend, law_case, attempt.options.bound_kind);
  if (verdict.skipped) {
    ++count.skipped[*verdict.skipped];
    return;
  }
  count.worst_ratio = std::max(count.worst_ratio, verdict.comparison.worst_ratio);
  if (verdict.comparison.passed()) {
    ++count.held;
    return;
  }
  if (++count.failed > attempt.options.failures_kept) return;
  const DescribedCase smallest =
      shrink_failure(attempt.law, attempt.backend, attempt.described, attempt.options);
  failures.push_back(failure_text(
      attempt.law, attempt.backend, smallest,
      attempt.law.check(attempt.backend, smallest.law_case, attempt.options.bound_kind)));
}

bool is_broken(const Law& law, const Backend& backend, const LawCase& law_case, BoundKind kind) {
  if (law.why_not_applicable(law_case)) return false;
  const LawVerdict verdict = law.check(backend, law_case, kind);
  return !verdict.skipped && !verdict.comparison.passed();
}

std::string indented(const std::string& text) {
  std::string result = "  ";
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

std::int64_t skipped_cases(const LawCount& count) {
  std::int64_t cases = 0;
  for (const auto& [reason, number] : count.skipped) cases += number;
  return cases;
}

}  // namespace

bool LawReport::passed() const {
  return std::all_of(counts.begin(), counts.end(),
                     [](const LawCount& count) { return count.failed == 0; });
}

std::string LawReport::table() const {
  std::string text = fmt::format("{:<20} {:<22} {:>6} {:>6} {:>8} {:>13}\n", "law", "backend",
                                 "held", "failed", "skipped", "worst / bound");
  std::map<std::string, std::int64_t> reasons;
  for (const LawCount& count : counts) {
    text += fmt::format("{:<20} {:<22} {:>6} {:>6} {:>8} {:>13.3g}\n", count.law, count.backend,
                        count.held, count.failed, skipped_cases(count), count.worst_ratio);
    for (const auto& [reason, cases] : count.skipped) reasons[count.law + ": " + reason] += cases;
  }
  for (const auto& [reason, cases] : reasons)
    text += fmt::format("skipped {:>6}  {}\n", cases, reason);
  return text;
}

LawReport run_laws(const std::vector<Law>& laws, const std::vector<Backend>& backends,
                   const CaseSource& next_case, const LawRunOptions& options) {
  LawReport report;
  for (const Law& law : laws) {
    for (const Backend& backend : backends) {
      LawCount count;
      count.law = law.name;
      count.backend = backend.name;
      report.counts.push_back(count);
    }
  }
  while (const std::optional<DescribedCase> described = next_case()) {
    auto count = report.counts.begin();
    for (const Law& law : laws)
      for (const Backend& backend : backends)
        try_case({law, backend, *described, options}, *count++, report.failures);
  }
  return report;
}

DescribedCase shrink_failure(const Law& law, const Backend& backend, const DescribedCase& failing,
                             const LawRunOptions& options) {
  DescribedCase smallest = failing;
  std::int64_t trials_left = options.shrinking_trials;
  for (bool found = true; found;) {
    found = false;
    if (!smallest.simpler_cases) return smallest;
    for (const std::function<DescribedCase()>& make : smallest.simpler_cases()) {
      if (trials_left-- <= 0) return smallest;
      DescribedCase simpler = make();
      found = is_broken(law, backend, simpler.law_case, options.bound_kind);
      if (!found) continue;
      smallest = std::move(simpler);
      break;
    }
  }
  return smallest;
}

std::string failure_text(const Law& law, const Backend& backend, const DescribedCase& described,
                         const LawVerdict& verdict) {
  return fmt::format("law {} is broken by {}\n  {}\ncase\n{}\n{}\n{}\nreplay\n  {}\n", law.name,
                     backend.name, law.statement, indented(described.description), verdict.what,
                     indented(verdict.comparison.text()), described.replay);
}

}  // namespace recto::verify
