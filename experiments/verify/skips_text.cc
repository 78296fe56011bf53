#include "experiments/verify/skips_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "verify/cases/reason_kind.h"

namespace recto::experiments {
namespace {

using verify::LawCount;

constexpr std::size_t kReasonsShown = 8;
constexpr std::size_t kReasonWidth = 90;  // columns

// Drops the middle of a long reason, because the end says what was found.
std::string shortened(const std::string& reason) {
  if (reason.size() <= kReasonWidth) return reason;
  constexpr std::size_t kEnd = 30;
  return reason.substr(0, kReasonWidth - kEnd - 5) + " ... " + reason.substr(reason.size() - kEnd);
}

// Laws that never apply to a backend: the reason, and the backends.
std::string never_text(const Selection& selection) {
  constexpr std::size_t kLawsNamed = 8;
  std::map<std::pair<std::string, std::string>, std::string> backends;  // of a reason and laws
  for (const verify::Backend& backend : selection.backends_here()) {
    std::map<std::string, std::vector<std::string>> laws;  // by reason
    for (const verify::Law& law : selection.laws)
      if (const auto why = why_never(law, backend)) laws[*why].push_back(law.name);
    for (const auto& [why, names] : laws) {
      const std::string text = names.size() > kLawsNamed ? fmt::format("{} laws", names.size())
                                                         : fmt::format("{}", fmt::join(names, " "));
      std::string& of = backends[{text, why}];
      of += (of.empty() ? "" : ", ") + backend.name;
    }
  }
  std::string text;
  for (const auto& [laws, names] : backends)
    text += fmt::format("  {}: {}: {}\n", laws.first, laws.second, names);
  return text.empty() ? "" : "\nLaws that never apply to a backend\n" + text;
}

// For each backend on which some law ran, the laws that apply to the backend but to none of the
// cases.
std::string unmet_text(const Selection& selection, const verify::LawReport& report) {
  std::string text;
  for (const verify::Backend& backend : selection.backends_here()) {
    std::string laws;
    std::int64_t ran = 0;
    for (const LawCount& count : report.counts) {
      if (count.backend != backend.name) continue;
      ran += count.ran();
      const auto law = std::ranges::find(selection.laws, count.law, &verify::Law::name);
      if (count.ran() == 0 && !why_never(*law, backend)) laws += " " + count.law;
    }
    if (ran > 0 && !laws.empty()) text += fmt::format("  {}:{}\n", backend.name, laws);
  }
  return text.empty() ? "" : "\nLaws that applied to no drawn case, for the reasons below\n" + text;
}

// Counts the skips that never_text lists as one number.
std::string counted_text(const Selection& selection, const verify::LawReport& report) {
  std::map<std::string, std::int64_t> whole;
  std::map<std::string, std::int64_t> parts;
  std::int64_t never = 0;
  const std::vector<verify::Backend> backends = selection.backends_here();
  for (const LawCount& count : report.counts) {
    const auto backend = std::ranges::find(backends, count.backend, &verify::Backend::name);
    const auto law = std::ranges::find(selection.laws, count.law, &verify::Law::name);
    if (why_never(*law, *backend)) {
      never += skipped_cases(count);
      continue;
    }
    for (const auto& [reason, cases] : count.skipped) whole[reason] += cases;
    for (const auto& [part, cases] : count.skipped_parts) parts[part] += cases;
  }
  std::string text;
  if (!whole.empty() || never > 0)
    text += "\nSkipped: checks of a law on a backend that were not run, and why\n";
  if (never > 0)
    text += fmt::format("{:>8}  the law never applies to the backend, as listed above\n", never);
  text += reasons_text(whole);
  if (!parts.empty()) text += "\nSkipped in part\n";
  return text + reasons_text(parts);
}

}  // namespace

std::int64_t skipped_cases(const LawCount& count) {
  std::int64_t cases = 0;
  for (const auto& [reason, number] : count.skipped) cases += number;
  return cases;
}

std::string reasons_text(const std::map<std::string, std::int64_t>& reasons) {
  struct Kind {
    std::string text;
    std::int64_t times = 0;
  };
  std::map<std::string, Kind> kinds;
  for (const auto& [reason, times] : reasons) {
    const std::string name = verify::reason_kind(reason);
    const auto [kind, is_new] = kinds.try_emplace(name, Kind{reason});
    if (!is_new) kind->second.text = name;
    kind->second.times += times;
  }
  std::vector<Kind> sorted;
  for (const auto& [name, kind] : kinds) sorted.push_back(kind);
  std::ranges::stable_sort(sorted, std::ranges::greater(), &Kind::times);
  std::string text;
  std::int64_t others = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i >= kReasonsShown) {
      others += sorted[i].times;
    } else {
      text += fmt::format("{:>8}  {}\n", sorted[i].times, shortened(sorted[i].text));
    }
  }
  if (others > 0) {
    text += fmt::format("{:>8}  for {} other reasons, listed by --json\n", others,
                        sorted.size() - kReasonsShown);
  }
  return text;
}

std::string skips_text(const Selection& selection, const verify::LawReport& report) {
  return never_text(selection) + unmet_text(selection, report) + counted_text(selection, report);
}

}  // namespace recto::experiments
