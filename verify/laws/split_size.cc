// The same context with other splits: single keys, sizes of which contexts are rarely multiples,
// and no split. Each split has its own maximum and sums, which are combined only in the final
// merge, so other splits round differently. But a single split, as long as the context or longer,
// always gives the same bits if tiles are fixed.

#include <fmt/format.h>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"
#include "verify/laws/problem_geometry.h"

namespace recto::verify {
namespace {

std::optional<std::string> why_not_applicable(const LawCase& law_case) {
  if (longest_context(law_case.problem) < 2) return "no context of two keys";
  return std::nullopt;
}

std::optional<std::string> why_unsplit(const Backend& backend) {
  if (backend.capabilities.takes_split_size) return std::nullopt;
  return "the backend does not take a split size";
}

void compare_unsplit(const LawCase& law_case, LawTrial& trial) {
  const std::int64_t longest = longest_context(law_case.problem);
  const std::optional<LawSide> base = trial.run_aside(law_case, {.split_size = longest});
  const std::optional<LawSide> side = trial.run_aside(law_case, {.split_size = 2 * longest});
  if (!base || !side) {
    trial.record_skip("one split: the backend with that split size does not support the case");
    return;
  }
  trial.record("one split, as long as the context and longer",
               compare_bits(side->inputs(), side->seen, base->seen));
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  if (const std::optional<std::string> why = why_unsplit(backend)) {
    trial.record_skip(*why);
    return trial.verdict();
  }
  const std::optional<LawSide> base = trial.run(law_case);
  if (!base) return trial.verdict();
  const reference::AttentionResult base_bound = trial.bound_of(*base);
  const std::int64_t longer = longest_context(law_case.problem) + 1;
  for (const std::int64_t split_size :
       {std::int64_t{1}, std::int64_t{16}, std::int64_t{33}, std::int64_t{128}, longer}) {
    const std::string what = fmt::format("splits of {} keys", split_size);
    const std::optional<LawSide> side = trial.run(law_case, what, {.split_size = split_size});
    if (!side) continue;
    trial.record(what, compare(side->inputs(), side->seen, base->seen,
                               sum_of(trial.bound_of(*side), base_bound)));
  }
  if (backend.capabilities.has_fixed_tiles) compare_unsplit(law_case, trial);
  return trial.verdict();
}

}  // namespace

Law split_size_law() {
  return {.name = "split_size",
          .statement =
              "how a context is split does not matter, within the bounds; where it is one "
              "split, bit for bit with fixed tiles",
          .why_not_applicable = why_not_applicable,
          .check = check,
          .why_never = why_unsplit};
}

}  // namespace recto::verify
