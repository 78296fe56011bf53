// A window that covers the whole context hides nothing. Tested with the smallest such window, where
// one less would hide a key of the last row, and with the largest int32.

#include <algorithm>
#include <limits>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"
#include "verify/laws/problem_geometry.h"

namespace recto::verify {
namespace {

LawCase with_window(LawCase law_case, std::optional<std::int64_t> window) {
  law_case.problem.options.window = window;
  return law_case;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  const std::int64_t context = std::max<std::int64_t>(1, longest_context(law_case.problem));
  LawTrial trial(backend, bound_kind);
  trial.compare_within_bounds(
      with_window(law_case, std::nullopt),
      {{"window = longest context", with_window(law_case, context)},
       {"window = 2^31 - 1", with_window(law_case, std::numeric_limits<std::int32_t>::max())}});
  return trial.verdict();
}

}  // namespace

Law wide_window_law() {
  return {.name = "wide_window",
          .statement = "a window of the context's length or more equals no window",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify
