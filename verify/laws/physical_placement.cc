// Where blocks lie, which ids they have, and what surrounds them does not matter.

#include <fmt/format.h>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  std::vector<Variant> variants;
  for (const BlockOrder order : kBlockOrders) {
    LawCase variant = law_case;
    variant.placement.order = order;
    variant.placement.seed = law_case.placement.seed + 1;
    variant.placement.spare_blocks += 3;
    variants.push_back({fmt::format("block order {}", block_order_name(order)), variant});
  }
  LawCase wider = law_case;
  wider.placement.block_padding += 16;
  wider.placement.row_padding += 16;
  wider.placement.table_padding += 3;
  wider.placement.garbage_beyond_table = !law_case.placement.garbage_beyond_table;
  variants.push_back({"wider strides and block table", wider});
  LawCase sharing = law_case;
  sharing.placement.shares_prefixes = !law_case.placement.shares_prefixes;
  variants.push_back({"prefix blocks shared, or no longer", sharing});
  LawTrial trial(backend, bound_kind);
  trial.compare_bit_for_bit(law_case, variants);
  return trial.verdict();
}

}  // namespace

Law physical_placement_law() {
  return {.name = "physical_placement",
          .statement = "physical placement and block ids never matter, bit for bit",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify
