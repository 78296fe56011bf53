// mbarriers.

#include "verify/ptx/program/decoder.h"

namespace recto::ptx {
namespace {

using text::OperandKind;

}  // namespace

// cp.async.mbarrier.arrive[.noinc][.shared[::cta]].b64 [a]
bool Decoder::decode_copy_arrival(InstructionReader& reader) {
  Detail detail;
  detail.mbarrier.mode = MbarrierMode::kCopyArrive;
  if (!reader.take("arrive")) return refuse();
  detail.mbarrier.increments = !reader.take("noinc");
  const auto& operands = instruction_->operands;
  if (operands.size() != 1) return fail("expected 1 operand");
  return read_mbarrier(reader, operands[0], &detail) &&
         emit_mbarrier(std::move(detail), kNoValue, kNoValue);
}

// The rest of the modifiers, and the address. Arrivals release, waits acquire, unless they are
// relaxed.
bool Decoder::read_mbarrier(InstructionReader& reader, const Operand& operand, Detail* detail) {
  const MbarrierMode mode = detail->mbarrier.mode;
  const bool arrives = mode == MbarrierMode::kArrive || mode == MbarrierMode::kArriveDrop;
  const bool waits = mode == MbarrierMode::kTest || mode == MbarrierMode::kTry;
  const bool has_order = (arrives && reader.take("release")) || (waits && reader.take("acquire"));
  detail->mbarrier.is_relaxed = !has_order && mode != MbarrierMode::kInit &&
                                mode != MbarrierMode::kInvalidate && reader.take("relaxed");
  const bool needs_scope = has_order || detail->mbarrier.is_relaxed;
  if (needs_scope && !reader.take("cta") && !reader.take("cluster")) return refuse();
  const MemorySpace space = reader.take_space().value_or(MemorySpace::kGeneric);
  const bool is_shared = space == MemorySpace::kGeneric || space == MemorySpace::kShared ||
                         space == MemorySpace::kSharedCluster;
  if (!is_shared || !reader.take("b64") || reader.has_more()) return refuse();
  return read_memory_operand(operand, space, &detail->memory);
}

bool Decoder::emit_mbarrier(Detail detail, ValuePlace operand, ValuePlace d) {
  if (!status_.is_ok()) return false;
  const MbarrierMode mode = detail.mbarrier.mode;
  const bool is_wait = mode == MbarrierMode::kTest || mode == MbarrierMode::kTry;
  emit_detail(Action::kMbarrier) = std::move(detail);
  Step& step = draft_.program.steps.back();
  if (operand != kNoValue) {
    step.a = operand;
    step.uses = kFieldA;
  }
  if (d != kNoValue) {
    step.d = d;
    step.d_width = is_wait ? kPredicateWidth : Width{8};
    step.defs = kFieldD;
  }
  return true;
}

// mbarrier.{init, inval, arrive, arrive_drop, expect_tx, complete_tx, test_wait, try_wait,
// pending_count}
bool Decoder::decode_mbarrier() {
  using enum MbarrierMode;
  InstructionReader reader(*instruction_);
  const auto& operands = instruction_->operands;
  if (reader.take("pending_count")) {
    if (!reader.take("b64") || reader.has_more() || operands.size() != 2) return refuse();
    const ValuePlace pending = add_value(8);
    const ValuePlace state = source(operands[1], 8, ScalarType::kB64);
    const ValuePlace d = result(operands[0], 4);
    if (!status_.is_ok()) return false;
    emit_lanes("shr.u64", pending, {state, constant(4, 32)});
    emit_lanes("cvt.u32.u64", d, {pending});
    return status_.is_ok();
  }
  const auto mode = reader.take_one_of<MbarrierMode>({{"init", kInit},
                                                      {"inval", kInvalidate},
                                                      {"arrive", kArrive},
                                                      {"arrive_drop", kArriveDrop},
                                                      {"expect_tx", kExpect},
                                                      {"complete_tx", kComplete},
                                                      {"test_wait", kTest},
                                                      {"try_wait", kTry}});
  if (!mode) return refuse();
  Detail detail;
  detail.mbarrier.mode = *mode;
  if (*mode == kTest || *mode == kTry) return decode_mbarrier_wait(reader, std::move(detail));
  const bool arrives = *mode == kArrive || *mode == kArriveDrop;
  if (arrives) {
    detail.mbarrier.expects = reader.take("expect_tx");
    detail.mbarrier.is_complete_forbidden = reader.take("noComplete");
  }
  // [state,] [a][, operand]
  const std::size_t first = arrives ? 1 : 0;
  const bool has_operand = operands.size() == first + 2;
  const bool needs_operand = *mode != kInvalidate && (!arrives || detail.mbarrier.expects ||
                                                      detail.mbarrier.is_complete_forbidden);
  if (operands.size() < first + 1 || operands.size() > first + 2 ||
      (needs_operand && !has_operand) || (*mode == kInvalidate && has_operand)) {
    return fail("expected other operands");
  }
  if (!read_mbarrier(reader, operands[first], &detail)) return false;
  ValuePlace operand = kNoValue;
  if (has_operand) {
    operand = source(operands[first + 1], 4, ScalarType::kU32);
  } else if (arrives) {
    operand = constant(4, 1);
  }
  const bool has_state = arrives && operands[0].kind != OperandKind::kSink;
  if (has_state && detail.memory.space == MemorySpace::kSharedCluster) {
    return fail("an mbarrier of another thread block returns no state: expected '_'");
  }
  return emit_mbarrier(std::move(detail), operand, has_state ? result(operands[0], 8) : kNoValue);
}

// mbarrier.{test_wait, try_wait}[.parity]... p, [a], state or parity[, time]
bool Decoder::decode_mbarrier_wait(InstructionReader& reader, Detail detail) {
  detail.mbarrier.is_parity = reader.take("parity");
  const auto& operands = instruction_->operands;
  const bool has_time = operands.size() == 4 && detail.mbarrier.mode == MbarrierMode::kTry;
  if (operands.size() != 3 && !has_time) return fail("expected 3 operands");
  if (!read_mbarrier(reader, operands[1], &detail)) return false;
  const Width width = detail.mbarrier.is_parity ? 4 : 8;
  const ValuePlace phase =
      source(operands[2], width, width == 4 ? ScalarType::kU32 : ScalarType::kB64);
  if (has_time) source(operands[3], 4, ScalarType::kU32);
  return emit_mbarrier(std::move(detail), phase, result(operands[0], kPredicateWidth));
}

}  // namespace recto::ptx
