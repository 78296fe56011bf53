// mbarriers.

#include "verify/ptx/program/families.h"

namespace recto::ptx {
namespace {

using enum MbarrierMode;

bool arrives(MbarrierMode mode) { return mode == kArrive || mode == kArriveDrop; }
bool waits(MbarrierMode mode) { return mode == kTest || mode == kTry; }

// The rest of the modifiers, and the address. Arrivals release, waits acquire, unless they are
// relaxed.
void read_object(Decoding& at, const Operand& operand, Detail* detail) {
  const MbarrierMode mode = detail->mbarrier.mode;
  const bool has_order =
      (arrives(mode) && at.take("release")) || (waits(mode) && at.take("acquire"));
  detail->mbarrier.is_relaxed =
      !has_order && mode != kInit && mode != kInvalidate && at.take("relaxed");
  const bool needs_scope = has_order || detail->mbarrier.is_relaxed;
  if (needs_scope && !at.take("cta") && !at.take("cluster")) return at.refuse();
  const MemorySpace space = at.take_space().value_or(MemorySpace::kGeneric);
  const bool is_shared = space == MemorySpace::kGeneric || space == MemorySpace::kShared ||
                         space == MemorySpace::kSharedCluster;
  if (!is_shared || !at.take("b64") || at.has_more()) return at.refuse();
  detail->memory = at.memory(operand, space);
}

// mbarrier.{test_wait, try_wait}[.parity]... p, [a], state or parity[, time]
void decode_wait(Decoding& at, Detail detail) {
  detail.mbarrier.is_parity = at.take("parity");
  const std::vector<Operand>& operands = at.operands();
  const bool has_time = operands.size() == 4 && detail.mbarrier.mode == kTry;
  if (!has_time && !at.has_operands(3)) return;
  read_object(at, operands[1], &detail);
  const Width width = detail.mbarrier.is_parity ? 4 : 8;
  const ValuePlace phase =
      at.source(operands[2], width, width == 4 ? ScalarType::kU32 : ScalarType::kB64);
  if (has_time) at.source(operands[3], 4, ScalarType::kU32);
  const ValuePlace d = at.result(operands[0], kPredicateWidth);
  at.emit(Action::kMbarrier, std::move(detail), {.d = d, .d_width = kPredicateWidth, .a = phase});
}

// mbarrier.pending_count.b64 d, state
void decode_pending_count(Decoding& at) {
  if (!at.take("b64") || at.has_more() || at.operands().size() != 2) return at.refuse();
  const ValuePlace state = at.source(at.operands()[1], 8, ScalarType::kB64);
  const ValuePlace pending = at.emit_value("shr.u64", 8, {state, at.constant(4, 32)});
  at.emit_lanes("cvt.u32.u64", at.result(at.operands()[0], 4), {pending});
}

}  // namespace

// cp.async.mbarrier.arrive[.noinc][.shared[::cta]].b64 [a]
void decode_copy_arrival(Decoding& at) {
  Detail detail;
  detail.mbarrier.mode = kCopyArrive;
  if (!at.take("arrive")) return at.refuse();
  detail.mbarrier.increments = !at.take("noinc");
  if (!at.has_operands(1)) return;
  read_object(at, at.operands()[0], &detail);
  at.emit(Action::kMbarrier, std::move(detail));
}

// mbarrier.{init, inval, arrive, arrive_drop, expect_tx, complete_tx}... [state,] [a][, operand]
void decode_mbarrier(Decoding& at) {
  if (at.take("pending_count")) return decode_pending_count(at);
  const auto mode = at.take_one_of<MbarrierMode>({{"init", kInit},
                                                  {"inval", kInvalidate},
                                                  {"arrive", kArrive},
                                                  {"arrive_drop", kArriveDrop},
                                                  {"expect_tx", kExpect},
                                                  {"complete_tx", kComplete},
                                                  {"test_wait", kTest},
                                                  {"try_wait", kTry}});
  if (!mode) return at.refuse();
  Detail detail;
  detail.mbarrier.mode = *mode;
  if (waits(*mode)) return decode_wait(at, std::move(detail));
  const bool is_arrival = arrives(*mode);
  if (is_arrival) {
    detail.mbarrier.expects = at.take("expect_tx");
    detail.mbarrier.is_complete_forbidden = at.take("noComplete");
  }
  const std::vector<Operand>& operands = at.operands();
  const std::size_t first = is_arrival ? 1 : 0;
  const bool has_operand = operands.size() == first + 2;
  const bool needs_operand = *mode != kInvalidate && (!is_arrival || detail.mbarrier.expects ||
                                                      detail.mbarrier.is_complete_forbidden);
  if (operands.size() < first + 1 || operands.size() > first + 2 ||
      (needs_operand && !has_operand) || (*mode == kInvalidate && has_operand)) {
    return at.fail("expected other operands");
  }
  read_object(at, operands[first], &detail);
  Fields fields;
  if (has_operand) {
    fields.a = at.source(operands[first + 1], 4, ScalarType::kU32);
  } else if (is_arrival) {
    fields.a = at.constant(4, 1);
  }
  if (is_arrival && operands[0].kind != OperandKind::kSink) {
    if (detail.memory.space == MemorySpace::kSharedCluster) {
      at.fail("an mbarrier of another thread block returns no state: expected '_'");
    }
    fields.d = at.result(operands[0], 8);
    fields.d_width = 8;
  }
  at.emit(Action::kMbarrier, std::move(detail), fields);
}

}  // namespace recto::ptx
