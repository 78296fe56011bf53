#include "experiments/mutants/summary.h"

#include <map>
#include <utility>

#include "experiments/mutants/mutant_counts.h"
#include "experiments/support/table.h"

namespace recto::experiments {
namespace {

using Mutants = std::vector<TriedMutant>;

constexpr const char* kLegend = R"(
First row: checks were added until none of these was left. Second row: the same, where the copies
were built without what the compiler can check; crashes are not counted as kills. Third row: another
draw, tried once, before checks were added for it. "unseen": the same machine code, or equivalent.
)";

void add_row(const char* name, const Mutants& mutants, Table& table) {
  MutantCounts counts;
  for (const TriedMutant& mutant : mutants) counts.add(mutant);
  table.add_row({name, std::to_string(counts.mutants),
                 std::to_string(counts.same_code + counts.equivalent), counts.killed.text(),
                 counts.imitations[0].text(), counts.imitations[1].text()});
}

}  // namespace

Result<Mutants> tried_anew(Mutants mutants, const Mutants& others) {
  std::map<std::string, const TriedMutant*> anew;
  for (const TriedMutant& other : others) anew[other.name] = &other;
  for (TriedMutant& mutant : mutants) {
    const auto found = anew.find(mutant.name);
    if (found == anew.end()) continue;
    mutant = *found->second;
    anew.erase(found);
  }
  if (anew.empty()) return mutants;
  return Status::invalid_input("mutant '" + anew.begin()->first +
                               "': expected one of the campaign's");
}

Result<std::string> summary_text(const CampaignResult& last) {
  const Result<CampaignResult> uninstrumented = uninstrumented_campaign();
  RECTO_RETURN_IF_ERROR(uninstrumented.status());
  const Result<CampaignResult> second = second_draw();
  RECTO_RETURN_IF_ERROR(second.status());
  const Result<Mutants> alone = tried_anew(last.mutants, uninstrumented.value().mutants);
  RECTO_RETURN_IF_ERROR(alone.status());
  Table table({{"mutants", Align::kLeft},
               {"of them"},
               {"unseen"},
               {"killed by recto"},
               {"fixed tolerance"},
               {"factor two"}});
  add_row("picked ones and the first draw", last.mutants, table);
  add_row("the same, without the compiler's checks", alone.value(), table);
  add_row("a second draw", second.value().mutants, table);
  return table.text() + kLegend;
}

}  // namespace recto::experiments
