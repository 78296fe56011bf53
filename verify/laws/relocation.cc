// The same blocks beyond 2^31 elements: an offset of 32 bits, anywhere on the way, ends elsewhere.

#include <algorithm>
#include <memory>

#include "verify/distant_pools.h"
#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

// The last blocks of a pool at least twice as large as what is held.
LawCase with_high_ids(LawCase law_case) {
  std::int64_t blocks = 1;
  for (const SequenceProblem& sequence : law_case.problem.sequences)
    blocks += sequence.context_length / law_case.placement.block_size + 1;
  law_case.placement.order = BlockOrder::kHighIds;
  law_case.placement.spare_blocks = std::max(law_case.placement.spare_blocks, blocks);
  return law_case;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  const std::optional<LawSide> near = trial.run(with_high_ids(law_case));
  if (!near) return trial.verdict();
  const auto far = DistantPools::create(near->inputs());
  if (!far.is_ok()) {
    trial.record_skip(far.status().message());
    return trial.verdict();
  }
  const PagedAttentionInputs& inputs = far.value()->inputs();
  if (const std::optional<std::string> why = backend.why_unsupported(inputs)) {
    trial.record_skip(*why);
    return trial.verdict();
  }
  trial.record("blocks beyond 2^31 elements",
               compare_bits(inputs, backend.run(inputs), near->seen));
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
