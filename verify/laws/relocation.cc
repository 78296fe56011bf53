// The same blocks beyond 2^31 elements give the same result: a 32-bit block offset leads elsewhere.
// Offsets within blocks stay small, as do those in q, out and lse, which this law does not test.

#include <optional>
#include <string>

#include "verify/laws/cache_operations/distant_pools.h"
#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  const std::optional<LawSide> near = trial.run(with_high_ids(law_case));
  if (!near) return trial.verdict();
  const auto far = DistantPools::create(near->inputs().kv);
  if (!far.is_ok()) {
    trial.record_skip(far.status().message());
    return trial.verdict();
  }
  PagedAttentionInputs inputs = near->inputs();
  inputs.kv = as_const(far.value()->kv());
  if (const auto seen = trial.run_again(inputs, near->options))
    trial.record("blocks beyond 2^31 elements", compare_bits(inputs, *seen, near->seen));
  return trial.verdict();
}

std::optional<std::string> why_no_key(const LawCase& law_case) {
  for (const SequenceProblem& sequence : law_case.problem.sequences)
    if (sequence.context_length > 0) return std::nullopt;
  return "no key";
}

}  // namespace

Law relocation_law() {
  return {.name = "relocation",
          .statement = "blocks beyond 2^31 elements and 2^32 bytes give the same, bit for bit",
          .why_not_applicable = why_no_key,
          .check = check};
}

}  // namespace recto::verify
