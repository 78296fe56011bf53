#include "experiments/mutants/mutants_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "experiments/mutants/campaign_result.h"
#include "experiments/support/table.h"
#include "experiments/support/text_file.h"

namespace recto::experiments {
namespace {

constexpr const char* kFooter = R"(
A campaign wakes hundreds of mutants, a process for each, and takes half an hour or more; this
shows what the last one wrote. Run it anew, from the sources:

  ./bazelw test //verify/mutants:sample_test --test_output=all     # four of each area
  ./bazelw test //verify/mutants:full_campaign --test_output=all --test_timeout=10800   # all

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

// As report.py tells sorts of checks: what `recto verify` has for anybody's kernel, and what the
// compiler put into the mutated copies. Others are of tests and properties of recto's own parts.
bool is_of_verify(const std::string& sort) {
  return sort == "checks of the executor" || sort == "the oracle" || sort.starts_with("law: ");
}

bool is_instrumentation(const std::string& sort) {
  return sort == "bounds of containers" || sort == "undefined behaviour";
}

struct Share {
  std::int64_t part = 0;
  std::int64_t whole = 0;

  void add(bool is_part) {
    part += is_part ? 1 : 0;
    ++whole;
  }

  std::string text() const {
    if (whole == 0) return "-";
    return fmt::format("{}/{} ({:.1f} %)", part, whole,
                       100 * static_cast<double>(part) / static_cast<double>(whole));
  }
};

struct AreaCounts {
  std::int64_t mutants = 0;
  std::int64_t untried = 0;
  std::int64_t same_code = 0;
  std::int64_t equivalent = 0;  // and other code
  std::int64_t by_verify = 0;
  std::int64_t by_instrumentation = 0;
  std::int64_t survived = 0;
  std::int64_t ended_otherwise = 0;  // in a crash, by the clock
  Share killed;
  Share imitations[2];

  void add(const TriedMutant& mutant) {
    ++mutants;
    if (mutant.ours == "untried") {
      ++untried;
    } else if (mutant.is_equivalent) {
      ++(mutant.is_same_code ? same_code : equivalent);
    } else {
      add_real(mutant);
    }
  }

  void add_real(const TriedMutant& mutant) {
    const bool is_killed = mutant.ours == "killed";
    killed.add(is_killed);
    by_verify += is_killed && is_of_verify(mutant.sort) ? 1 : 0;
    by_instrumentation += is_killed && is_instrumentation(mutant.sort) ? 1 : 0;
    survived += mutant.ours == "passed" ? 1 : 0;
    ended_otherwise += mutant.ours == "crashed" || mutant.ours == "clock" ? 1 : 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(2, mutant.imitations.size()); ++i) {
      imitations[i].add(mutant.imitations[i] == "killed");
    }
  }

  std::int64_t not_killed() const { return untried + survived + ended_otherwise; }
};

// By area, and of all.
using Rows = std::vector<std::pair<std::string, AreaCounts>>;

constexpr const char* kLegend = R"(
The first check that sees a mutant ends its trial; others might see it, too. "recto verify": the
oracle, a law or the executor's checks. "own tests": of recto's own parts. "compiler": bounds and
undefined behaviour, by what the compiler puts into the copies. The last two columns are imitations
of usual tests, which kernels, launch code and the host API are put to.
)";

std::string kills_text(const Rows& rows, bool has_failures) {
  std::vector<TableColumn> columns = {
      {"area", Align::kLeft}, {"mutants"}, {"same machine code"}, {"equivalent"}, {"killed"}};
  if (has_failures) columns.insert(columns.end(), {{"survived"}, {"crash, clock"}, {"untried"}});
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

std::string areas_text(const Mutants& mutants) {
  std::map<std::string, AreaCounts> areas;
  AreaCounts all;
  for (const TriedMutant& mutant : mutants) {
    areas[mutant.area].add(mutant);
    all.add(mutant);
  }
  Rows rows(areas.begin(), areas.end());
  if (rows.size() > 1) rows.emplace_back("all", all);
  return kills_text(rows, all.not_killed() > 0) + '\n' + first_killers_text(rows) + kLegend;
}

// Of two in the middle their mean, as report.py has it.
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
  if (path.empty()) return parse_campaign_result("the last campaign", last_campaign());
  const Result<std::string> text = read_text_file(path);
  RECTO_RETURN_IF_ERROR(text.status());
  return parse_campaign_result(path, text.value());
}

Status show(const MutantsArguments& arguments, CommandContext& context) {
  Result<CampaignResult> result = result_of(arguments.result);
  RECTO_RETURN_IF_ERROR(result.status());
  Mutants& mutants = result.value().mutants;
  if (!arguments.area.empty()) {
    std::string areas;
    for (const TriedMutant& mutant : mutants) {
      if (areas.find(mutant.area) == std::string::npos) {
        areas += (areas.empty() ? "" : ", ") + mutant.area;
      }
    }
    std::erase_if(mutants, [&](const auto& mutant) { return mutant.area != arguments.area; });
    if (mutants.empty()) {
      return Status::invalid_input("--area: found '" + arguments.area + "'; expected one of " +
                                   areas);
    }
  }
  context.out << fmt::format("campaign of {}, {} mutants\n\n", result.value().date, mutants.size())
              << areas_text(mutants) << '\n'
              << (arguments.lists ? list_text(mutants) : killers_text(mutants));
  return Status::ok();
}

}  // namespace

void add_mutants_command(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<MutantsArguments>();
  CLI::App* command =
      app.add_subcommand("mutants", "planted faults: how many the checks find, and which do");
  command->add_option("--result", arguments->result, "what another campaign wrote, in JSON")
      ->option_text("FILE");
  command->add_option("--area", arguments->area, "of one area alone")->option_text("NAME");
  command->add_flag("--list", arguments->lists, "every mutant, in place of who kills how many");
  command->footer(kFooter);
  command->callback([arguments, &context] {
    context.chosen = [arguments, &context] { return show(*arguments, context); };
  });
}

}  // namespace recto::experiments
