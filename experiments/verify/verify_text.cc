#include "experiments/verify/verify_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "core/json.h"
#include "experiments/support/numbers.h"
#include "experiments/support/remarks.h"
#include "experiments/support/table.h"
#include "experiments/verify/kept_failures.h"
#include "experiments/verify/skips_text.h"
#include "verify/saved_case.h"

namespace recto::experiments {
namespace {

using verify::LawCount;
// Results compared only bit by bit have no bound.
std::string ratio_text(const LawCount& count) {
  const bool has_bound = count.by_bits < count.elements;
  return has_bound || count.failed > 0 ? fmt::format("{:.3g}", count.worst_ratio) : "-";
}

// The table of checks: backends in their order, each with its laws.
std::string counts_text(const Selection& selection, const verify::LawReport& report) {
  Table table({{"backend", Align::kLeft},
               {"law", Align::kLeft},
               {"cases"},
               {"failed"},
               {"skipped"},
               {"held to", Align::kLeft},
               {"error / bound"}});
  for (const verify::ListedBackend& listed : selection.backends) {
    for (const LawCount& count : report.counts) {
      if (count.backend != listed.backend.name || count.ran() == 0) continue;
      table.add_row({count.backend, count.law, std::to_string(count.ran()),
                     std::to_string(count.failed), std::to_string(skipped_cases(count)),
                     count.held_to(), ratio_text(count)});
    }
  }
  return table.text();
}

// How the checks of a backend failed, over all laws, by kind.
std::map<std::string, verify::FailureCount> failures_by_kind(const verify::LawReport& report,
                                                             const std::string& backend) {
  std::map<std::string, verify::FailureCount> kinds;
  for (const LawCount& count : report.counts) {
    if (count.backend != backend) continue;
    for (const auto& [kind, failures] : count.failures) {
      kinds[kind].cases += failures.cases;
      kinds[kind].met_shrinking += failures.met_shrinking;
    }
  }
  return kinds;
}

// "SIGSEGV 4, time-out 1": kinds that occurred.
std::string kind_counts_text(const std::map<std::string, verify::FailureCount>& kinds,
                             std::int64_t verify::FailureCount::*number) {
  std::string text;
  for (const auto& [kind, failures] : kinds) {
    if (failures.*number == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kind, failures.*number);
  }
  return text;
}

// For backends with failures other than wrong numbers: crashes, calls that did not return, ...
std::string kinds_text(const Selection& selection, const verify::LawReport& report) {
  std::string text;
  for (const verify::ListedBackend& listed : selection.backends) {
    const auto kinds = failures_by_kind(report, listed.backend.name);
    if (kinds.empty() || (kinds.size() == 1 && kinds.contains(verify::kWrongNumbers))) continue;
    text += fmt::format("  {}: {}\n", listed.backend.name,
                        kind_counts_text(kinds, &verify::FailureCount::cases));
    const std::string met = kind_counts_text(kinds, &verify::FailureCount::met_shrinking);
    if (!met.empty()) text += fmt::format("    found while reducing these: {}\n", met);
  }
  return text.empty() ? "" : "\nKinds of failure, and the checks that ended in them\n" + text;
}

// The sizes that each kind of backend, or each function of a library, was tried with.
std::map<std::string, TriedSizes> sizes_by_kind(const Selection& selection,
                                                const VerifyOutcome& outcome) {
  std::map<std::string, TriedSizes> sizes;
  for (const verify::ListedBackend& listed : selection.backends) {
    const auto found = outcome.sizes.find(listed.backend.name);
    if (found == outcome.sizes.end()) continue;
    const bool is_of_library = listed.kind == verify::BackendKind::kLibrary;
    sizes[is_of_library ? listed.backend.name : backend_kind_name(listed.kind)].add(found->second);
  }
  return sizes;
}

std::string sizes_text(const Selection& selection, const VerifyOutcome& outcome) {
  std::string text;
  for (const auto& [name, sizes] : sizes_by_kind(selection, outcome))
    text += fmt::format("  {}: {}\n", name, sizes.text("    "));
  if (text.empty()) return "";
  return "\nTried: each size by itself, as a range or a list; types of q / of the cache\n" + text;
}

std::string biases_text(const VerifyOutcome& outcome) {
  std::string text;
  for (const auto& [backend, bias] : outcome.biased) {
    text += fmt::format(
        "\nNote: outputs of {} in {} lie {:.2f} ulp towards zero on average, over {}: "
        "they,\nor weights before them, are truncated, not rounded to nearest. The bound allows "
        "it;\nover layers and steps it accumulates.\n",
        backend, element_type_name(bias.type), bias.ulps, counted(bias.contexts, "context"));
  }
  return text;
}

std::string absent_text(const Selection& selection) {
  std::map<std::string, std::vector<std::string>> names;
  for (const verify::ListedBackend& listed : selection.backends)
    if (listed.why_not_here) names[*listed.why_not_here].push_back(listed.backend.name);
  std::string text;
  for (const auto& [why, backends] : names) {
    text += fmt::format("\nSKIPPED: {}: {}:\n ", counted(std::ssize(backends), "backend"), why);
    for (const std::string& backend : backends) text += " " + backend;
    text += '\n';
  }
  return text;
}

// Tests of properties that no law can check, because they require observing launches.
std::string tests_text(const Selection& selection) {
  const bool has_kernels = std::ranges::any_of(selection.backends, [](const auto& listed) {
    return !listed.why_not_here && (listed.kind == verify::BackendKind::kExecutor ||
                                    listed.kind == verify::BackendKind::kHostApi);
  });
  if (!has_kernels) return "";
  return "\nChecked by tests, not by laws: both sides of each dispatch threshold, in "
         "//verify/kernels:kernels_test\n"
         "  and //verify/kernels/host_api:host_api_test; each access to memory, in "
         "//verify/kernels:kernels_checks_test\n";
}

Json count_json(const LawCount& count) {
  Json json = {{"backend", count.backend},   {"law", count.law},
               {"cases", count.ran()},       {"failed", count.failed},
               {"skipped", Json::object()},  {"skipped_parts", Json::object()},
               {"elements", count.elements}, {"by_bits", count.by_bits}};
  for (const auto& [reason, cases] : count.skipped) json["skipped"][reason] = cases;
  for (const auto& [part, cases] : count.skipped_parts) json["skipped_parts"][part] = cases;
  json["failed_by_kind"] = Json::object();
  for (const auto& [kind, failures] : count.failures) {
    json["failed_by_kind"][kind] = {{"cases", failures.cases},
                                    {"shown", failures.shown},
                                    {"met_shrinking", failures.met_shrinking},
                                    {"shrunk_to_shown", failures.shrunk_to_shown}};
  }
  // JSON has no infinity.
  json["worst_error_to_bound"] =
      std::isfinite(count.worst_ratio) ? Json(count.worst_ratio) : Json("infinite");
  return json;
}

}  // namespace

std::string verify_text(const Selection& selection, const VerifyOptions& options,
                        const VerifyOutcome& outcome) {
  std::string text = fmt::format("{}, seed {}, {} bounds", counted(outcome.cases, "case"),
                                 options.seed, bound_kind_name(options.bound_kind));
  if (outcome.large_cases > 0) text += fmt::format("; {} of serving size", outcome.large_cases);
  if (outcome.unmet_law_cases > 0)
    text += fmt::format("; {} for laws that had applied to none", outcome.unmet_law_cases);
  if (outcome.pair_cases > 0) {
    text += fmt::format("\nand {} for pairs of options and sizes: to the oracle, on kernels",
                        counted(outcome.pair_cases, "case"));
  }
  if (outcome.report.lost)
    text += fmt::format("\nended early, with {}: checks that are not in the table were not run",
                        *outcome.report.lost);
  text += "\n\n" + counts_text(selection, outcome.report) + kinds_text(selection, outcome.report) +
          sizes_text(selection, outcome) + skips_text(selection, outcome.report);
  if (!outcome.passed_over.empty()) {
    text += "\nPassed over: cases that were drawn for a backend that refused them, and why\n";
    text += reasons_text(outcome.passed_over);
  }
  text += absent_text(selection) + tests_text(selection);
  if (outcome.report.timed_out_once > 0)
    text += fmt::format("\nnote: calls that exceeded the time limit, but not when repeated: {}\n",
                        outcome.report.timed_out_once);
  for (const std::string& backend : untried_backends(selection, outcome))
    text += fmt::format("\nuntried: {}: every case was skipped\n", backend);
  return text + biases_text(outcome) + failures_text(options, outcome);
}

Json verify_json(const Selection& selection, const VerifyOptions& options,
                 const VerifyOutcome& outcome) {
  Json json = {{"cases", outcome.cases},
               {"cases_of_serving_size", outcome.large_cases},
               {"cases_for_unmet_laws", outcome.unmet_law_cases},
               {"cases_for_pairs", outcome.pair_cases},
               {"context_max", options.limits.context_max},
               {"sequences_max", options.limits.num_seqs_max},
               {"rows_max", options.limits.num_rows_max},
               {"q_heads_max", options.limits.num_q_heads_max},
               {"seed", options.seed},
               {"bound", bound_kind_name(options.bound_kind)},
               {"passed_over", outcome.passed_over},
               {"late_calls", outcome.report.timed_out_once},
               {"failed", outcome.report.failed()},
               {"cut_short", outcome.report.cut_short},
               {"replaced", outcome.replaced},
               {"ended_early", outcome.report.lost ? Json(*outcome.report.lost) : Json(nullptr)},
               {"untried", untried_backends(selection, outcome)},
               {"sizes", Json::object()},
               {"backends", Json::array()},
               {"counts", Json::array()},
               {"by_feature", outcome.by_feature.json()},
               {"biased", Json::array()},
               {"failures", Json::array()}};
  for (const verify::ListedBackend& listed : selection.backends) {
    json["backends"].push_back(
        {{"name", listed.backend.name},
         {"kind", backend_kind_name(listed.kind)},
         {"why_not_here", listed.why_not_here ? Json(*listed.why_not_here) : Json(nullptr)}});
  }
  for (const auto& [name, sizes] : sizes_by_kind(selection, outcome))
    json["sizes"][name] = sizes.json();
  for (const LawCount& count : outcome.report.counts) json["counts"].push_back(count_json(count));
  for (const auto& [backend, bias] : outcome.biased) {
    json["biased"].push_back({{"backend", backend},
                              {"type", element_type_name(bias.type)},
                              {"ulps_towards_zero", bias.ulps},
                              {"contexts", bias.contexts}});
  }
  for (std::size_t i = 0; i < outcome.kept.size(); ++i) {
    const KeptFailure& kept = outcome.kept[i];
    json["failures"].push_back({{"backend", kept.backend},
                                {"law", kept.law},
                                {"kind", kept.kind},
                                {"file", kept.file ? Json(*kept.file) : Json(nullptr)},
                                {"text", outcome.report.failures[i]}});
  }
  return json;
}

}  // namespace recto::experiments
