#include "verify/ptx/machine/undefined_registers.h"

#include <iterator>

namespace recto::ptx {
namespace {

LaneMask bits_of(const Warp& warp, ValuePlace place) {
  return place == kNoValue ? 0 : warp.undefined[place / sizeof(LaneMask)];
}

// Of the fields in `which`, a step's defs or uses.
LaneMask bits_of_fields(const WarpStep& at, std::uint8_t which) {
  const ValuePlace fields[] = {at.step.d, at.step.e, at.step.a, at.step.b, at.step.c};
  LaneMask bits = 0;
  for (unsigned i = 0; i < std::size(fields); ++i) {
    if ((which >> i & 1) != 0) bits |= bits_of(at.warp, fields[i]);
  }
  return bits;
}

}  // namespace

void pass_undefined(const Program& program, const WarpStep& at) {
  if (at.warp.undefined.empty()) return;
  const LaneMask undefined =
      passes_undefined(at.step.action) ? bits_of_fields(at, at.step.uses) : 0;
  const auto set = [&](ValuePlace place) {
    LaneMask& mask = at.warp.undefined[place / sizeof(LaneMask)];
    mask = (mask & ~at.lanes) | (undefined & at.lanes);
  };
  if ((at.step.defs & kFieldD) != 0) set(at.step.d);
  if ((at.step.defs & kFieldE) != 0) set(at.step.e);
  if (!has_detail(at.step.action)) return;
  for (const ValuePlace place : program.details[at.step.detail].defs) set(place);
}

LaneMask undefined_uses(const Program& program, const WarpStep& at, LaneMask enabled) {
  if (at.warp.undefined.empty()) return 0;
  const LaneMask guard = bits_of(at.warp, at.step.guard) & at.lanes;
  if (guard != 0 || passes_undefined(at.step.action)) return guard;
  LaneMask undefined = bits_of_fields(at, at.step.uses);
  if (has_detail(at.step.action)) {
    const Detail& detail = program.details[at.step.detail];
    undefined |= bits_of(at.warp, detail.memory.address) | bits_of(at.warp, detail.source.address) |
                 bits_of(at.warp, detail.signal.address);
    for (const ValuePlace place : detail.bulk.coordinates) undefined |= bits_of(at.warp, place);
    // A product that does not add does not read its sums.
    const bool ignores_sums =
        at.step.action == Action::kWarpgroupProduct && at.warp.mask_at(detail.uses[0]) == 0;
    for (std::size_t i = 0; i < detail.uses.size(); ++i) {
      if (ignores_sums && i >= 1 && i <= detail.defs.size()) continue;
      undefined |= bits_of(at.warp, detail.uses[i]);
    }
  }
  return undefined & enabled;
}

}  // namespace recto::ptx
