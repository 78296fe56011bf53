#include "experiments/support/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/mutants/campaign_result.h"
#include "experiments/mutants/mutant_counts.h"
#include "experiments/mutants/summary.h"
#include "experiments/support/output_file.h"
#include "experiments/support/table.h"

namespace recto::experiments {
namespace {

constexpr const char* kFooter = R"(
A campaign wakes hundreds of mutants, a process for each, and takes hours; this shows what the last
one wrote. Run it anew, from the sources:

  ./bazelw test //verify/mutants:sample_test --test_output=all     # four of each area
  ./bazelw test //verify/mutants:full_campaign --test_output=all --test_timeout=36000   # all

Examples:
  recto mutants
  recto mutants --list --area scheduler
  recto mutants --result result.json)";

struct MutantsArguments {
  std::string result;
  std::string area;
  bool lists = false;
};

using Mutants = std::vector<TriedMutant>;

// By area, and for all.
using Rows = std::vector<std::pair<std::string, MutantCounts>>;

constexpr const char* kLegend = R"(
The first check that sees a mutant ends its trial; others might see it, too. "recto verify": the
oracle, a law or the executor's checks. "own tests": of recto's own parts. "compiler": bounds and
undefined behaviour, by what the compiler puts into the copies. "other end": a crash, the clock, or
an exception that is no check's. The last two columns are imitations of usual tests, which kernels,
launch code and the host API are put to.
)";

constexpr const char* kAloneLegend = R"(
Of the mutants that "recto verify" was tried on by itself: laws, oracle and the executor's checks,
without recto's own tests. "laws, no oracle": those that compare a backend with itself.
)";

std::string kills_text(const Rows& rows, bool has_failures) {
  std::vector<TableColumn> columns = {
      {"area", Align::kLeft}, {"mutants"}, {"same machine code"}, {"equivalent"}, {"killed"}};
  if (has_failures) columns.insert(columns.end(), {{"survived"}, {"other end"}, {"untried"}});
  Table table(columns);
  for (const auto& [area, counts] : rows) {
    std::vector<std::string> row = {area, std::to_string(counts.mutants),
                                    std::to_string(counts.same_code),
                                    std::to_string(counts.equivalent), counts.killed.text()};
    if (has_failures) {
      for (const std::int64_t count : {counts.survived, counts.ended_otherwise, counts.untried}) {
        row.push_back(std::to_string(count));
      }
    }
    table.add_row(row);
  }
  return table.text() +
         (has_failures ? "" : "\nNone survived, crashed, or was ended by the clock.\n");
}

std::string first_killers_text(const Rows& rows) {
  Table table({{"first killed by", Align::kLeft},
               {"recto verify"},
               {"own tests"},
               {"compiler"},
               {"fixed tolerance"},
               {"factor two"}});
  for (const auto& [area, counts] : rows) {
    const std::int64_t by_tests = counts.killed.part - counts.by_verify - counts.by_instrumentation;
    table.add_row({area, std::to_string(counts.by_verify), std::to_string(by_tests),
                   std::to_string(counts.by_instrumentation), counts.imitations[0].text(),
                   counts.imitations[1].text()});
  }
  return table.text();
}

Rows rows_of(const Mutants& mutants) {
  std::map<std::string, MutantCounts> areas;
  MutantCounts all;
  for (const TriedMutant& mutant : mutants) {
    areas[mutant.area].add(mutant);
    all.add(mutant);
  }
  Rows rows(areas.begin(), areas.end());
  if (rows.size() > 1) rows.emplace_back("all", all);
  return rows;
}

// Each column is of the same mutants. Empty for a campaign without such columns.
std::string alone_text(const Mutants& mutants) {
  Mutants tried;
  std::ranges::copy_if(mutants, std::back_inserter(tried),
                       [](const TriedMutant& mutant) { return mutant.alone.has_value(); });
  if (tried.empty()) return "";
  Table table({{"each alone", Align::kLeft},
               {"all checks"},
               {"recto verify"},
               {"laws, no oracle"},
               {"fixed tolerance"},
               {"factor two"}});
  for (const auto& [area, counts] : rows_of(tried)) {
    table.add_row({area, counts.killed.text(), counts.verify_alone.text(), counts.laws_alone.text(),
                   counts.imitations[0].text(), counts.imitations[1].text()});
  }
  return '\n' + table.text() + kAloneLegend;
}

std::string areas_text(const Mutants& mutants) {
  const Rows rows = rows_of(mutants);
  const bool has_failures = !rows.empty() && rows.back().second.not_killed() > 0;
  return kills_text(rows, has_failures) + '\n' + first_killers_text(rows) + kLegend +
         alone_text(mutants);
}

// The mean of the middle two if there are two, as in report.py.
double median(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// The sort of check that kills most first.
std::string killers_text(const Mutants& mutants) {
  std::map<std::string, std::vector<double>> seconds;
  for (const TriedMutant& mutant : mutants) {
    if (mutant.ours == "killed") seconds[mutant.sort].push_back(mutant.seconds);
  }
  std::vector<std::pair<std::string, std::vector<double>>> killers(seconds.begin(), seconds.end());
  std::ranges::stable_sort(
      killers, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  Table table({{"killed by", Align::kLeft}, {"mutants"}, {"seconds, median"}, {"most"}});
  for (auto& [sort, times] : killers) {
    std::ranges::sort(times);
    table.add_row({sort, std::to_string(times.size()), fmt::format("{:.1f}", median(times)),
                   fmt::format("{:.1f}", times.back())});
  }
  return table.text();
}

// Each law, the one that kills most first; empty for a campaign that tried none alone.
std::string laws_text(const CampaignResult& result) {
  if (result.laws.empty()) return "";
  std::vector<std::pair<std::string, std::int64_t>> laws;
  for (const std::string& law : result.laws) {
    laws.emplace_back(law, std::ranges::count_if(result.mutants, [&](const TriedMutant& mutant) {
                        return mutant.alone && std::ranges::count(mutant.alone->laws, law) > 0;
                      }));
  }
  std::ranges::stable_sort(laws, [](const auto& a, const auto& b) { return a.second > b.second; });
  Table table({{"law alone", Align::kLeft}, {"mutants"}, {"compares with", Align::kLeft}});
  for (const auto& [law, count] : laws) {
    table.add_row(
        {law, std::to_string(count), is_by_reference(law) ? "the reference" : "the same backend"});
  }
  return '\n' + table.text();
}

std::string list_text(const Mutants& mutants) {
  Table table({{"mutant", Align::kLeft},
               {"", Align::kLeft},
               {"seconds"},
               {"place", Align::kLeft},
               {"killed by", Align::kLeft}});
  for (const TriedMutant& mutant : mutants) {
    const std::string became = mutant.ours == "passed" ? "survived" : mutant.ours;
    const std::string unseen = mutant.is_same_code ? "same code" : "equivalent";
    table.add_row({mutant.name, mutant.is_equivalent ? unseen : became,
                   fmt::format("{:.1f}", mutant.seconds), mutant.place, mutant.by});
  }
  return table.text();
}

Result<CampaignResult> result_of(const std::string& path) {
  if (path.empty()) return last_campaign();
  const Result<std::string> text = read_text_file(path);
  RECTO_RETURN_IF_ERROR(text.status());
  return parse_campaign_result(path, text.value());
}

// Invalid input if no mutant is of this area.
Status keep_area(const std::string& area, Mutants& mutants) {
  std::string areas;
  for (const TriedMutant& mutant : mutants) {
    if (areas.find(mutant.area) == std::string::npos) {
      areas += (areas.empty() ? "" : ", ") + mutant.area;
    }
  }
  std::erase_if(mutants, [&](const auto& mutant) { return mutant.area != area; });
  if (!mutants.empty()) return Status::ok();
  return Status::invalid_input("--area: found '" + area + "'; expected one of " + areas);
}

Status show(const MutantsArguments& arguments, CommandContext& context) {
  Result<CampaignResult> result = result_of(arguments.result);
  RECTO_RETURN_IF_ERROR(result.status());
  Mutants& mutants = result.value().mutants;
  if (!arguments.area.empty()) RECTO_RETURN_IF_ERROR(keep_area(arguments.area, mutants));
  if (arguments.result.empty() && arguments.area.empty()) {
    const Result<std::string> summary = summary_text(result.value());
    RECTO_RETURN_IF_ERROR(summary.status());
    context.out << summary.value() << '\n';
  }
  context.out << fmt::format("campaign of {}, {} mutants\n\n", result.value().date, mutants.size())
              << areas_text(mutants) << '\n'
              << (arguments.lists ? list_text(mutants)
                                  : killers_text(mutants) + laws_text(result.value()));
  return Status::ok();
}

}  // namespace

Command mutants_command() {
  auto arguments = std::make_shared<MutantsArguments>();
  Command command("mutants", "planted faults: how many the checks find, and which do");
  command.add("--result FILE", nonempty_text(arguments->result, "a file"),
              "what another campaign wrote, in JSON");
  command.add("--area NAME", nonempty_text(arguments->area, "the name of an area"),
              "of one area alone");
  command.add("--list", flag(arguments->lists), "every mutant, in place of who kills how many");
  command.footer = kFooter;
  command.run = [arguments](CommandContext& context) { return show(*arguments, context); };
  return command;
}

}  // namespace recto::experiments
