#pragma once

// Reduces a failing check: finds out whether it fails again in a fresh process, alone or after the
// cases before it, and looks for the simplest case that fails in the same way.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/law_runner.h"
#include "verify/preceding_cases.h"
#include "verify/trial_budget.h"

namespace recto::verify {

// A law, and the backend that it is put to.
struct Check {
  const Law& law;
  const Backend& backend;
  const LawRunOptions& options;
};

struct FailingCase {
  DescribedCase described;
  LawVerdict verdict;
  std::optional<std::string> lost = {};  // why nothing can run any more after it
  bool is_cut_short = false;  // it did not fail again, or trials ended before all were made
};

using FailingCases = std::map<std::string, FailingCase>;  // by kind

// Asks why nothing can run any more.
FailingCase failing_case(const Check& check, DescribedCase described, LawVerdict verdict);

// The verdict on the case in a fresh process, after the cases that precede it; skipped if one of
// these does not come back. A backend that cannot be restarted is as it is.
LawVerdict verdict_again(const Check& check, const DescribedCase& described);

// The failing case as it is shown: one that fails in the same way, the simplest that was found,
// with a remark where it does not fail each time, and alone. Cases met meanwhile that fail in
// another way go to `others`, the first of each kind. Takes from `left`.
FailingCase reduced(const Check& check, FailingCase failing, const PrecedingCases& preceding,
                    TrialsLeft& left, FailingCases& others);

// The simplest case found that breaks the law on the backend in the same way as `failing`.
DescribedCase shrink_failure(const Law& law, const Backend& backend, const DescribedCase& failing,
                             const LawRunOptions& options);

}  // namespace recto::verify
