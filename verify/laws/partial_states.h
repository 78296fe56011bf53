#pragma once

// Partial states (m, l, o) for testing merges: the keys of each query row of a case, cut into three
// parts. Scores are plain products here; masks and biases do not affect merging.

#include <array>
#include <functional>
#include <vector>

#include "verify/laws/law_trial.h"

namespace recto::verify {

struct RowStates {
  ElementPlace place;  // sequence, row, head
  // States of the thirds of the context, exact in the merge's type; the identity for an empty
  // third.
  std::array<reference::SoftmaxState, 3> parts;
};

std::vector<RowStates> row_states(const AttentionProblem& problem, StateType type);

void compare_state_bits(const ElementPlace& place, const reference::SoftmaxState& seen,
                        const reference::SoftmaxState& expected, ElementComparer& comparer);

// The input of a merge law for the states of one row.
struct MergeTrial {
  const StateMerge& merge;
  const RowStates& row;
  const reference::KernelNumerics& numerics;
  ElementComparer& comparer;
};

// The check of a merge law, for every row and head of the case. Skipped if the backend exposes no
// merge.
LawVerdict check_merges(const Backend& backend, const LawCase& law_case, const std::string& what,
                        const std::function<void(const MergeTrial&)>& check_row);

// Why the merge laws do not apply to this backend, or nothing.
std::optional<std::string> why_no_merge(const Backend& backend);

// Why the precondition of all merge laws does not hold, or nothing.
std::optional<std::string> why_no_states(const LawCase& law_case);

}  // namespace recto::verify
