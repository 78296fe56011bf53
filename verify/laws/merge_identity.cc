// (-inf, 0, 0) is the state of no keys. Merged with itself it must not become NaN, which
// exp(-inf - (-inf)) is.

#include "verify/laws/laws.h"
#include "verify/laws/partial_states.h"

namespace recto::verify {
namespace {

void check_row(const MergeTrial& trial) {
  const reference::SoftmaxState identity =
      reference::SoftmaxState::identity(trial.row.parts[0].weighted.size());
  for (const reference::SoftmaxState& part : trial.row.parts) {
    compare_state_bits(trial.row.place, trial.merge.merge(identity, part), part, trial.comparer);
    compare_state_bits(trial.row.place, trial.merge.merge(part, identity), part, trial.comparer);
  }
  compare_state_bits(trial.row.place, trial.merge.merge(identity, identity), identity,
                     trial.comparer);
}

}  // namespace

Law merge_identity_law() {
  return {.name = "merge_identity",
          .statement = "merging with (-inf, 0, 0) changes nothing, bit for bit",
          .why_not_applicable = why_no_states,
          .check = [](const Backend& backend, const LawCase& law_case, BoundKind) {
            return check_merges(backend, law_case, "merged with the identity", check_row);
          }};
}

}  // namespace recto::verify
