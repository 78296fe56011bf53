#pragma once

// Reduces a failing check: finds out whether it fails again in a fresh process, alone or after the
// preceding cases, and looks for the simplest case that fails in the same way.

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

// A law and the backend that it checks.
struct Check {
  const Law& law;
  const Backend& backend;
  const LawRunOptions& options;
};

struct FailingCase {
  DescribedCase described;
  LawVerdict verdict;
  std::optional<std::string> lost = {};  // why nothing can run any more after the failure
  bool is_cut_short = false;             // it did not fail again, or trials ended early
};

using FailingCases = std::map<std::string, FailingCase>;  // by kind

// Also asks the options whether anything can still run.
FailingCase failing_case(const Check& check, DescribedCase described, LawVerdict verdict);

// The verdict on the case in a fresh process, after the cases in `described.after`; skipped if one
// of those does not return. A backend that cannot be restarted runs as it is.
LawVerdict verdict_again(const Check& check, const DescribedCase& described);

// The failing case to show: the simplest one found that fails in the same way, with a remark if it
// does not fail each time and alone. Cases found meanwhile that fail in another way go to `others`,
// the first of each kind. Deducts its trials from `left`.
FailingCase reduced(const Check& check, FailingCase failing, const PrecedingCases& preceding,
                    TrialsLeft& left, FailingCases& others);

// The simplest case found that breaks the law on the backend in the same way as `failing`.
DescribedCase shrink_failure(const Law& law, const Backend& backend, const DescribedCase& failing,
                             const LawRunOptions& options);

}  // namespace recto::verify
