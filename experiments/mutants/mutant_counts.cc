#include "experiments/mutants/mutant_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace recto::experiments {
namespace {

void count(bool is_part, Share& share) {
  share.part += is_part ? 1 : 0;
  ++share.whole;
}

bool is_ended_otherwise(const std::string& ours) {
  return ours == "threw" || ours == "crashed" || ours == "clock";
}

}  // namespace

bool is_of_verify(const std::string& sort) {
  return sort == "checks of the executor" || sort == "the oracle" || sort.starts_with("law: ");
}

bool is_instrumentation(const std::string& sort) {
  return sort == "bounds of containers" || sort == "undefined behaviour";
}

bool is_by_reference(const std::string& law) {
  return law == "oracle" || law == "kv_write" || law == "kv_append" || law == "block_copy" ||
         law == "block_swap" || law == "gather";
}

std::string Share::text() const {
  if (whole == 0) return "-";
  return fmt::format("{}/{} ({:.1f} %)", part, whole,
                     100 * static_cast<double>(part) / static_cast<double>(whole));
}

void MutantCounts::add(const TriedMutant& mutant) {
  ++mutants;
  if (mutant.ours == "untried") {
    ++untried;
    return;
  }
  if (mutant.is_equivalent) {
    ++(mutant.is_same_code ? same_code : equivalent);
    return;
  }
  const bool is_killed = mutant.ours == "killed";
  count(is_killed, killed);
  by_verify += is_killed && is_of_verify(mutant.sort) ? 1 : 0;
  by_instrumentation += is_killed && is_instrumentation(mutant.sort) ? 1 : 0;
  survived += mutant.ours == "passed" ? 1 : 0;
  ended_otherwise += is_ended_otherwise(mutant.ours) ? 1 : 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, mutant.imitations.size()); ++i) {
    count(mutant.imitations[i] == "killed", imitations[i]);
  }
  if (!mutant.alone) return;
  count(mutant.alone->verify == "killed", verify_alone);
  count(!std::ranges::all_of(mutant.alone->laws, is_by_reference), laws_alone);
}

}  // namespace recto::experiments
