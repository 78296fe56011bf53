// Slots that no sequence addresses never affect a bit of the output, whatever they hold. (A weight
// of 0 times NaN would be NaN.)

#include <fmt/format.h>

#include <algorithm>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

LawCase poisoned(LawCase law_case, Poison poison, PoisonedTensors tensors) {
  law_case.placement.poison = poison;
  law_case.placement.poisoned = tensors;
  law_case.placement.spare_blocks = std::max<std::int64_t>(1, law_case.placement.spare_blocks);
  return law_case;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  std::vector<Variant> variants;
  for (const Poison poison : kPoisons) {
    if (poison == Poison::kZero || limited(poison, backend.capabilities.poison) != poison) continue;
    for (const PoisonedTensors tensors : kPoisonedTensors)
      variants.push_back({fmt::format("{} in unaddressed slots, {}", poison_name(poison),
                                      poisoned_tensors_name(tensors)),
                          poisoned(law_case, poison, tensors)});
  }
  LawTrial trial(backend, bound_kind);
  trial.compare_bit_for_bit(poisoned(law_case, Poison::kZero, PoisonedTensors::kBoth), variants);
  return trial.verdict();
}

}  // namespace

Law unaddressed_slots_law() {
  return {.name = "unaddressed_slots",
          .statement = "slots that no block table addresses never matter, bit for bit",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify
