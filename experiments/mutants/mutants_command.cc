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

std::string share(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{} ({:.1f} %)", part,
                     100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::vector<std::string> row_of(const std::string& name, const Mutants& mutants) {
  std::map<std::string, std::int64_t> ours;
  std::int64_t equivalent = 0;
  std::int64_t untried = 0;
  std::int64_t tried[2] = {};
  std::int64_t killed[2] = {};
  for (const TriedMutant& mutant : mutants) {
    const bool is_untried = mutant.ours == "untried";
    untried += is_untried ? 1 : 0;
    equivalent += mutant.is_equivalent && !is_untried ? 1 : 0;
    if (is_untried || mutant.is_equivalent) continue;
    ++ours[mutant.ours];
    for (std::size_t i = 0; i < std::min<std::size_t>(2, mutant.imitations.size()); ++i) {
      ++tried[i];
      killed[i] += mutant.imitations[i] == "killed" ? 1 : 0;
    }
  }
  const auto all = static_cast<std::int64_t>(mutants.size());
  return {name,
          std::to_string(all),
          std::to_string(untried),
          std::to_string(equivalent),
          share(ours["killed"], all - untried - equivalent),
          std::to_string(ours["passed"]),
          std::to_string(ours["crashed"] + ours["clock"]),
          share(killed[0], tried[0]),
          share(killed[1], tried[1])};
}

std::string areas_text(const Mutants& mutants) {
  std::map<std::string, Mutants> areas;
  for (const TriedMutant& mutant : mutants) areas[mutant.area].push_back(mutant);
  Table table({{"area", Align::kLeft},
               {"mutants"},
               {"not tried"},
               {"equivalent"},
               {"killed"},
               {"survived"},
               {"crash, clock"},
               {"fixed tolerance"},
               {"factor two"}});
  for (const auto& [area, own] : areas) table.add_row(row_of(area, own));
  if (areas.size() > 1) table.add_row(row_of("all", mutants));
  return table.text();
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
    table.add_row({mutant.name, mutant.is_equivalent ? "equivalent" : became,
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
