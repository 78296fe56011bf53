// a and b merge to the same bits as b and a, even if the maxima are equal but one is +0 and the
// other -0 (a negative scale turns a product of 0 into -0).

#include "verify/laws/laws.h"
#include "verify/laws/partial_states.h"

namespace recto::verify {
namespace {

using reference::SoftmaxState;

void check_pair(const MergeTrial& trial, const SoftmaxState& left, const SoftmaxState& right) {
  compare_state_bits(trial.row.place, trial.merge.merge(right, left),
                     trial.merge.merge(left, right), trial.comparer);
}

SoftmaxState with_maximum(SoftmaxState state, double maximum) {
  if (state.sum > 0) state.maximum = maximum;
  return state;
}

void check_row(const MergeTrial& trial) {
  for (std::size_t a = 0; a < 3; ++a) {
    const SoftmaxState& left = trial.row.parts[a];
    const SoftmaxState& right = trial.row.parts[(a + 1) % 3];
    check_pair(trial, left, right);
    check_pair(trial, with_maximum(left, 0.0), with_maximum(right, -0.0));
  }
}

}  // namespace

Law merge_commutativity_law() {
  return {.name = "merge_commutativity",
          .statement = "merging commutes, bit for bit",
          .why_not_applicable = why_no_states,
          .check =
              [](const Backend& backend, const LawCase& law_case, BoundKind) {
                return check_merges(backend, law_case, "merged the other way round", check_row);
              },
          .why_never = why_no_merge};
}

}  // namespace recto::verify
