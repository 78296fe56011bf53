#pragma once

// Which values a kernel still needs where.

#include <cstdint>
#include <vector>

#include "verify/ptx/program/control_flow.h"
#include "verify/ptx/program/draft.h"

namespace recto::ptx {

// Calls visit(value, is_def) for each value of a step; the value may be changed. A guarded result
// is also a use, because lanes without the guard keep what they have.
template <typename Visit>
void for_each_value(Step& step, std::vector<Detail>& details, Visit visit) {
  ValuePlace* const fields[] = {&step.d, &step.e, &step.a, &step.b, &step.c};
  for (unsigned i = 0; i < 5; ++i) {
    if ((step.uses >> i & 1) != 0) visit(*fields[i], false);
  }
  if (step.guard != kNoValue) visit(step.guard, false);
  Detail* detail = has_detail(step.action) ? &details[step.detail] : nullptr;
  if (detail != nullptr) {
    if (detail->memory.address != kNoValue) visit(detail->memory.address, false);
    if (detail->source.address != kNoValue) visit(detail->source.address, false);
    if (detail->signal.address != kNoValue) visit(detail->signal.address, false);
    for (ValuePlace& value : detail->bulk.coordinates) visit(value, false);
    for (ValuePlace& value : detail->uses) visit(value, false);
    for (ValuePlace& value : detail->defs) visit(value, true);
  }
  for (unsigned i = 0; i < 5; ++i) {
    if ((step.defs >> i & 1) != 0) visit(*fields[i], true);
  }
}

// The steps from which to which a value needs its place, in the order of steps.
struct LiveRange {
  std::uint32_t first = ~std::uint32_t{0};
  std::uint32_t last = 0;

  void cover(std::uint32_t step) {
    first = step < first ? step : first;
    last = step > last ? step : last;
  }
  bool is_empty() const { return first > last; }
};

struct Liveness {
  std::vector<LiveRange> ranges;          // by value
  std::vector<ValuePlace> live_at_entry;  // read on some path before they are written
};

// O(blocks * values / 64 * nesting of loops).
Liveness liveness_of(Draft& draft, const ControlFlow& flow);

}  // namespace recto::ptx
