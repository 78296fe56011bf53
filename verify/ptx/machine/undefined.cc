// Registers that may be undefined: a bit for each lane goes along with their values, and is
// reported where it reaches an address, a branch, a store or a product.

#include <bit>

#include "verify/ptx/machine/thread_block.h"

namespace recto::ptx {
namespace {

constexpr unsigned kFields = 5;

}  // namespace

void ThreadBlock::pass_undefined(Warp& warp, const Step& step, LaneMask lanes) {
  if (warp.undefined.empty()) return;
  const ValuePlace fields[kFields] = {step.d, step.e, step.a, step.b, step.c};
  LaneMask undefined = 0;
  const auto bits = [&](ValuePlace place) -> LaneMask& {
    return warp.undefined[place / sizeof(LaneMask)];
  };
  if (passes_undefined(step.action)) {
    for (unsigned i = 0; i < kFields; ++i) {
      if ((step.uses >> i & 1) != 0) undefined |= bits(fields[i]);
    }
  }
  const auto set = [&](ValuePlace place) {
    LaneMask& mask = bits(place);
    mask = (mask & ~lanes) | (undefined & lanes);
  };
  for (unsigned i = 0; i < kFields; ++i) {
    if ((step.defs >> i & 1) != 0) set(fields[i]);
  }
  if (has_detail(step.action)) {
    for (const ValuePlace place : program_.details[step.detail].defs) set(place);
  }
}

// `lanes` come to the step, those of them that are `enabled` execute it.
bool ThreadBlock::check_defined(Warp& warp, const Step& step, LaneMask lanes, LaneMask enabled) {
  if (warp.undefined.empty()) return true;
  const auto report_lanes = [&](LaneMask undefined) {
    if (undefined == 0) return true;
    report(Check::kUndefinedRegister, warp, static_cast<unsigned>(std::countr_zero(undefined)),
           step, "uses a register that was never written");
    return false;
  };
  if (step.guard != kNoValue &&
      !report_lanes(warp.undefined[step.guard / sizeof(LaneMask)] & lanes)) {
    return false;
  }
  if (passes_undefined(step.action)) return true;
  LaneMask undefined = 0;
  const auto look = [&](ValuePlace place) {
    if (place != kNoValue) undefined |= warp.undefined[place / sizeof(LaneMask)];
  };
  const ValuePlace fields[kFields] = {step.d, step.e, step.a, step.b, step.c};
  for (unsigned i = 0; i < kFields; ++i) {
    if ((step.uses >> i & 1) != 0) look(fields[i]);
  }
  if (has_detail(step.action)) {
    const Detail& detail = program_.details[step.detail];
    look(detail.memory.address);
    look(detail.source.address);
    for (const ValuePlace place : detail.uses) look(place);
  }
  return report_lanes(undefined & enabled);
}

}  // namespace recto::ptx
