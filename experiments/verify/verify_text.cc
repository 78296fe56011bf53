#include "experiments/verify/verify_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "experiments/support/table.h"
#include "verify/reason_kind.h"
#include "verify/saved_case.h"

namespace recto::experiments {
namespace {

using verify::LawCount;
using Json = nlohmann::ordered_json;

constexpr std::size_t kReasonsShown = 24;
constexpr std::size_t kReasonWidth = 90;  // columns

// Without its middle where it is long: the end says what was there.
std::string shortened(const std::string& reason) {
  if (reason.size() <= kReasonWidth) return reason;
  constexpr std::size_t kEnd = 30;
  return reason.substr(0, kReasonWidth - kEnd - 5) + " ... " + reason.substr(reason.size() - kEnd);
}

std::int64_t skipped_cases(const LawCount& count) {
  std::int64_t cases = 0;
  for (const auto& [reason, number] : count.skipped) cases += number;
  return cases;
}

// Of nothing but bits there is no bound.
std::string ratio_text(const LawCount& count) {
  const bool has_bound = count.by_bits < count.elements;
  return has_bound || count.failed > 0 ? fmt::format("{:.3g}", count.worst_ratio) : "-";
}

// Backends in their order, each with its laws: what was tried.
std::string counts_text(const Trial& trial, const verify::LawReport& report) {
  Table table({{"backend", Align::kLeft},
               {"law", Align::kLeft},
               {"cases"},
               {"failed"},
               {"skipped"},
               {"held to", Align::kLeft},
               {"error / bound"}});
  for (const verify::ListedBackend& listed : trial.backends) {
    for (const LawCount& count : report.counts) {
      if (count.backend != listed.backend.name || count.ran() == 0) continue;
      table.add_row({count.backend, count.law, std::to_string(count.ran()),
                     std::to_string(count.failed), std::to_string(skipped_cases(count)),
                     count.held_to(), ratio_text(count)});
    }
  }
  return table.text();
}

// Of reasons that differ in numbers alone, one; the most frequent ones; the number of the others,
// so that nothing goes unsaid.
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
    text += fmt::format("{:>8}  for {} other reasons, which --json has\n", others,
                        sorted.size() - kReasonsShown);
  }
  return text;
}

// The sizes that each kind of backend, or each function of a library, was tried with.
std::map<std::string, TriedSizes> sizes_by_kind(const Trial& trial, const VerifyOutcome& outcome) {
  std::map<std::string, TriedSizes> sizes;
  for (const verify::ListedBackend& listed : trial.backends) {
    const auto found = outcome.sizes.find(listed.backend.name);
    if (found == outcome.sizes.end()) continue;
    const bool is_of_library = listed.kind == verify::BackendKind::kLibrary;
    sizes[is_of_library ? listed.backend.name : backend_kind_name(listed.kind)].add(found->second);
  }
  return sizes;
}

std::string sizes_text(const Trial& trial, const VerifyOutcome& outcome) {
  std::string text;
  for (const auto& [name, sizes] : sizes_by_kind(trial, outcome))
    text += fmt::format("  {}: {}\n", name, sizes.text());
  if (text.empty()) return "";
  return "\nTried: each size by itself, from the least to the most; types of q / of the cache\n" +
         text;
}

// Laws that are not about a backend, whatever the case: why, and of whom.
std::string never_text(const Trial& trial) {
  constexpr std::size_t kLawsNamed = 8;
  std::map<std::pair<std::string, std::string>, std::string> backends;  // of a reason and laws
  for (const verify::Backend& backend : trial.backends_here()) {
    std::map<std::string, std::vector<std::string>> laws;  // by reason
    for (const verify::Law& law : trial.laws)
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
  return text.empty() ? "" : "\nCannot be put to, whatever the case\n" + text;
}

// Of each backend that some law was put to, the laws that could be, and met no case that they say
// something of.
std::string unmet_text(const Trial& trial, const verify::LawReport& report) {
  std::string text;
  for (const verify::Backend& backend : trial.backends_here()) {
    std::string laws;
    std::int64_t ran = 0;
    for (const LawCount& count : report.counts) {
      if (count.backend != backend.name) continue;
      ran += count.ran();
      const auto law = std::ranges::find(trial.laws, count.law, &verify::Law::name);
      if (count.ran() == 0 && !why_never(*law, backend)) laws += " " + count.law;
    }
    if (ran > 0 && !laws.empty()) text += fmt::format("  {}:{}\n", backend.name, laws);
  }
  return text.empty() ? "" : "\nMet no case that they say something of, as told below\n" + text;
}

std::string skips_text(const verify::LawReport& report) {
  std::map<std::string, std::int64_t> whole;
  std::map<std::string, std::int64_t> parts;
  for (const LawCount& count : report.counts) {
    for (const auto& [reason, cases] : count.skipped) whole[reason] += cases;
    for (const auto& [part, cases] : count.skipped_parts) parts[part] += cases;
  }
  std::string text;
  if (!whole.empty()) text += "\nSkipped: times that a law was not put to a backend, and why\n";
  text += reasons_text(whole);
  if (!parts.empty()) text += "\nSkipped in part\n";
  return text + reasons_text(parts);
}

std::string absent_text(const Trial& trial) {
  std::map<std::string, std::vector<std::string>> names;
  for (const verify::ListedBackend& listed : trial.backends)
    if (listed.why_not_here) names[*listed.why_not_here].push_back(listed.backend.name);
  std::string text;
  for (const auto& [why, backends] : names) {
    text += fmt::format("\nSKIPPED: {} backends: {}:\n ", backends.size(), why);
    for (const std::string& backend : backends) text += " " + backend;
    text += '\n';
  }
  return text;
}

// What no law can say, as it takes to look at launches.
std::string tests_text(const Trial& trial) {
  const bool has_kernels = std::ranges::any_of(trial.backends, [](const auto& listed) {
    return !listed.why_not_here && (listed.kind == verify::BackendKind::kExecutor ||
                                    listed.kind == verify::BackendKind::kHostApi);
  });
  if (!has_kernels) return "";
  return "\nTests, and no laws: both sides of each dispatch threshold, in "
         "//verify:kernel_thresholds_test,\n"
         "  //verify:host_api_thresholds_test and //verify:kernel_cache_thresholds_test\n";
}

Json count_json(const LawCount& count) {
  Json json = {{"backend", count.backend},   {"law", count.law},
               {"cases", count.ran()},       {"failed", count.failed},
               {"skipped", Json::object()},  {"skipped_parts", Json::object()},
               {"elements", count.elements}, {"by_bits", count.by_bits}};
  for (const auto& [reason, cases] : count.skipped) json["skipped"][reason] = cases;
  for (const auto& [part, cases] : count.skipped_parts) json["skipped_parts"][part] = cases;
  // JSON has no infinity.
  json["worst_error_to_bound"] =
      std::isfinite(count.worst_ratio) ? Json(count.worst_ratio) : Json("infinite");
  return json;
}

}  // namespace

std::string verify_text(const Trial& trial, const VerifyOptions& options,
                        const VerifyOutcome& outcome) {
  std::string text = fmt::format("{} cases, seed {}, {} bounds", outcome.cases, options.seed,
                                 bound_kind_name(options.bound_kind));
  if (outcome.large_cases > 0) text += fmt::format("; {} of serving size", outcome.large_cases);
  if (outcome.late_cases > 0)
    text += fmt::format("; {} for laws that had met none", outcome.late_cases);
  if (outcome.report.lost)
    text += fmt::format("\nended early, with {}: what is not in the table was not run",
                        *outcome.report.lost);
  text += "\n\n" + counts_text(trial, outcome.report) + sizes_text(trial, outcome) +
          never_text(trial) + unmet_text(trial, outcome.report) + skips_text(outcome.report);
  if (!outcome.passed_over.empty()) {
    text += "\nPassed over: other cases, each drawn for a backend that refused it, and why\n";
    text += reasons_text(outcome.passed_over);
  }
  text += absent_text(trial) + tests_text(trial);
  for (const std::string& backend : untried_backends(trial, outcome))
    text += fmt::format("\nuntried: {}: every case was skipped\n", backend);
  for (const std::string& failure : outcome.report.failures) text += "\n" + failure;
  return text;
}

Json verify_json(const Trial& trial, const VerifyOptions& options, const VerifyOutcome& outcome) {
  Json json = {{"cases", outcome.cases},
               {"cases_of_serving_size", outcome.large_cases},
               {"cases_for_unmet_laws", outcome.late_cases},
               {"context_max", options.context_max},
               {"seed", options.seed},
               {"bound", bound_kind_name(options.bound_kind)},
               {"passed_over", outcome.passed_over},
               {"failed", outcome.report.failed()},
               {"ended_early", outcome.report.lost ? Json(*outcome.report.lost) : Json(nullptr)},
               {"untried", untried_backends(trial, outcome)},
               {"sizes", Json::object()},
               {"backends", Json::array()},
               {"counts", Json::array()},
               {"failures", Json::array()}};
  for (const verify::ListedBackend& listed : trial.backends) {
    json["backends"].push_back(
        {{"name", listed.backend.name},
         {"kind", backend_kind_name(listed.kind)},
         {"why_not_here", listed.why_not_here ? Json(*listed.why_not_here) : Json(nullptr)}});
  }
  for (const auto& [name, sizes] : sizes_by_kind(trial, outcome))
    json["sizes"][name] = sizes.json();
  for (const LawCount& count : outcome.report.counts) json["counts"].push_back(count_json(count));
  for (std::size_t i = 0; i < outcome.kept.size(); ++i) {
    const KeptFailure& kept = outcome.kept[i];
    json["failures"].push_back({{"backend", kept.backend},
                                {"law", kept.law},
                                {"file", kept.file ? Json(*kept.file) : Json(nullptr)},
                                {"text", outcome.report.failures[i]}});
  }
  return json;
}

}  // namespace recto::experiments
