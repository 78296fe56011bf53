// The same slots with their elements in another order give the same result.

#include <fmt/format.h>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

// The packed layout stores K in packs of 16 bytes.
bool fits(const ProblemShape& shape, KvLayout layout) {
  return layout != KvLayout::kPacked || shape.head_dim_k * element_bytes(shape.kv_type) % 16 == 0;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  std::vector<Variant> variants;
  for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor, KvLayout::kPacked}) {
    if (layout == law_case.placement.layout || !fits(law_case.problem.shape, layout)) continue;
    LawCase variant = law_case;
    variant.placement.layout = layout;
    variants.push_back({fmt::format("layout {}", kv_layout_name(layout)), variant});
  }
  LawTrial trial(backend, bound_kind);
  trial.compare_within_bounds(law_case, variants);
  return trial.verdict();
}

}  // namespace

Law cache_layout_law() {
  return {.name = "cache_layout",
          .statement = "the layout of the cache does not matter within the bounds",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify
