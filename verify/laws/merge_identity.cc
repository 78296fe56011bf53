// (-inf, 0, 0) is the state of no keys. Merging it with itself must not give NaN, although exp(-inf
// - (-inf)) is NaN; and merging it must keep the sign of zeros: -0 + 0 is +0.

#include "verify/laws/laws.h"
#include "verify/laws/partial_states.h"

namespace recto::verify {
namespace {

void check_row(const MergeTrial& trial) {
  const reference::SoftmaxState identity =
      reference::SoftmaxState::identity(trial.row.parts[0].weighted.size());
  const auto check = [&](const reference::SoftmaxState& part) {
    compare_state_bits(trial.row.place, trial.merge.merge(identity, part), part, trial.comparer);
    compare_state_bits(trial.row.place, trial.merge.merge(part, identity), part, trial.comparer);
  };
  for (const reference::SoftmaxState& part : trial.row.parts) {
    check(part);
    if (part.sum == 0) continue;
    reference::SoftmaxState negative_zeros = part;
    negative_zeros.maximum = -0.0;
    negative_zeros.weighted.setConstant(-0.0);
    check(negative_zeros);
  }
  compare_state_bits(trial.row.place, trial.merge.merge(identity, identity), identity,
                     trial.comparer);
}

}  // namespace

Law merge_identity_law() {
  return {.name = "merge_identity",
          .statement = "merging with (-inf, 0, 0) changes nothing, bit for bit",
          .why_not_applicable = why_no_states,
          .check =
              [](const Backend& backend, const LawCase& law_case, BoundKind) {
                return check_merges(backend, law_case, "merged with the identity", check_row);
              },
          .why_never = why_no_merge};
}

}  // namespace recto::verify
