// The same keys in blocks of other sizes give the same result.

#include <fmt/format.h>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  std::vector<Variant> variants;
  for (const std::int64_t block_size : {1, 4, 16, 48, 128}) {
    if (block_size == law_case.placement.block_size) continue;
    LawCase variant = law_case;
    variant.placement.block_size = block_size;
    variants.push_back({fmt::format("block size {}", block_size), variant});
  }
  LawTrial trial(backend, bound_kind);
  if (backend.capabilities.has_fixed_tiles)
    trial.compare_bit_for_bit(law_case, variants);
  else
    trial.compare_within_bounds(law_case, variants);
  return trial.verdict();
}

}  // namespace

Law block_size_law() {
  return {.name = "block_size",
          .statement =
              "block size does not matter: bit for bit where tiles are fixed, else within "
              "the bounds",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify
