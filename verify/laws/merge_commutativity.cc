// a and b merge to the same bits as b and a.

#include "verify/laws/laws.h"
#include "verify/laws/partial_states.h"

namespace recto::verify {
namespace {

void check_row(const MergeTrial& trial) {
  for (std::size_t a = 0; a < 3; ++a) {
    const reference::SoftmaxState& left = trial.row.parts[a];
    const reference::SoftmaxState& right = trial.row.parts[(a + 1) % 3];
    compare_state_bits(trial.row.place, trial.merge.merge(right, left),
                       trial.merge.merge(left, right), trial.comparer);
  }
}

}  // namespace

Law merge_commutativity_law() {
  return {.name = "merge_commutativity",
          .statement = "merging commutes, bit for bit",
          .why_not_applicable = why_no_states,
          .check = [](const Backend& backend, const LawCase& law_case, BoundKind) {
            return check_merges(backend, law_case, "merged the other way round", check_row);
          }};
}

}  // namespace recto::verify
