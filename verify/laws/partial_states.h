#pragma once

// Partial states (m, l, o) to try merges on: each query row's keys of a case, cut in three. Scores
// are plain products here; masks and biases are no matter of merging.

#include <array>
#include <functional>
#include <vector>

#include "verify/laws/law_trial.h"

namespace recto::verify {

struct RowStates {
  ElementPlace place;  // sequence, row, head
  // Of thirds of the context, exact in the merge's type; the identity where a third has no keys.
  std::array<reference::SoftmaxState, 3> parts;
};

std::vector<RowStates> row_states(const AttentionProblem& problem, StateType type);

void compare_state_bits(const ElementPlace& place, const reference::SoftmaxState& seen,
                        const reference::SoftmaxState& expected, ElementComparer& comparer);

// What a law of merging says of the states of one row.
struct MergeTrial {
  const StateMerge& merge;
  const RowStates& row;
  const reference::KernelNumerics& numerics;
  ElementComparer& comparer;
};

// The check of such a law: of every row and head of the case. Skipped where the backend hands out
// no merge.
LawVerdict check_merges(const Backend& backend, const LawCase& law_case, const std::string& what,
                        const std::function<void(const MergeTrial&)>& check_row);

// Whom none of them is about.
std::optional<std::string> why_no_merge(const Backend& backend);

// The precondition of all of them.
std::optional<std::string> why_no_states(const LawCase& law_case);

}  // namespace recto::verify
