#include "verify/ptx/machine/undefined_registers.h"

#include <iterator>

#include "verify/ptx/machine/memory_steps.h"

namespace recto::ptx {
namespace {

LaneMask bits_of(const Warp& warp, unsigned half, ValuePlace place) {
  return place == kNoValue ? 0 : warp.undefined[half][place / sizeof(LaneMask)];
}

LaneMask bits_of(const Warp& warp, ValuePlace place) {
  return bits_of(warp, 0, place) | bits_of(warp, 1, place);
}

LaneMask bits_of_uses(const WarpStep& at) {
  const ValuePlace fields[] = {at.step.d, at.step.e, at.step.a, at.step.b, at.step.c};
  LaneMask bits = 0;
  for (unsigned i = 0; i < std::size(fields); ++i) {
    if ((at.step.uses >> i & 1) != 0) bits |= bits_of(at.warp, fields[i]);
  }
  return bits;
}

// The lanes in which this half of the result is undefined.
LaneMask bits_of_result(const WarpStep& at, unsigned half) {
  if (!passes_undefined(at.step.action)) return 0;
  struct {
    StepField field;
    ValuePlace place;
  } const operands[] = {
      {kFieldA, at.step.a}, {kFieldB, at.step.b}, {kFieldC, at.step.c}, {kFieldE, at.step.e}};
  LaneMask bits = 0;
  for (unsigned i = 0; i < std::size(operands); ++i) {
    if ((at.step.uses & operands[i].field) == 0) continue;
    const unsigned depends = at.step.halves >> (4 * i + 2 * half);
    if ((depends & 1) != 0) bits |= bits_of(at.warp, 0, operands[i].place);
    if ((depends & 2) != 0) bits |= bits_of(at.warp, 1, operands[i].place);
  }
  return bits;
}

}  // namespace

void pass_undefined(const Program& program, const WarpStep& at) {
  if (at.warp.undefined[0].empty()) return;
  const LaneMask undefined[] = {bits_of_result(at, 0), bits_of_result(at, 1)};
  const auto set = [&](ValuePlace place) {
    for (unsigned half = 0; half < 2; ++half) {
      LaneMask& mask = at.warp.undefined[half][place / sizeof(LaneMask)];
      mask = (mask & ~at.lanes) | (undefined[half] & at.lanes);
    }
  };
  if ((at.step.defs & kFieldD) != 0) set(at.step.d);
  if ((at.step.defs & kFieldE) != 0) set(at.step.e);
  if (!has_detail(at.step.action)) return;
  for (const ValuePlace place : program.details[at.step.detail].defs) set(place);
}

LaneMask undefined_uses(const Program& program, const WarpStep& at, LaneMask enabled) {
  if (at.warp.undefined[0].empty()) return 0;
  const LaneMask guard = bits_of(at.warp, at.step.guard) & at.lanes;
  if (guard != 0 || passes_undefined(at.step.action)) return guard;
  LaneMask undefined = bits_of_uses(at);
  if (has_detail(at.step.action)) {
    const Detail& detail = program.details[at.step.detail];
    const bool has_rows =
        at.step.action == Action::kLoadMatrix || at.step.action == Action::kStoreMatrix;
    const LaneMask with_address = has_rows ? lanes_with_rows(detail) : kAllLanes;
    undefined |= (bits_of(at.warp, detail.memory.address) & with_address) |
                 bits_of(at.warp, detail.source.address) | bits_of(at.warp, detail.signal.address);
    for (const ValuePlace place : detail.bulk.coordinates) undefined |= bits_of(at.warp, place);
    // A product that does not add does not read its sums.
    const bool ignores_sums =
        at.step.action == Action::kWarpgroupProduct && at.warp.mask_at(detail.uses[0]) == 0;
    // A store may take the lower halves of its registers alone.
    const bool ignores_upper =
        at.step.action == Action::kStore && 2 * detail.element_bytes <= detail.width;
    for (std::size_t i = 0; i < detail.uses.size(); ++i) {
      if (ignores_sums && i >= 1 && i <= detail.defs.size()) continue;
      const ValuePlace use = detail.uses[i];
      undefined |= ignores_upper ? bits_of(at.warp, 0, use) : bits_of(at.warp, use);
    }
  }
  return undefined & enabled;
}

}  // namespace recto::ptx
