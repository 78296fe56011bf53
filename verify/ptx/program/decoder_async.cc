// Asynchronous copies, mbarriers, and products of warpgroups.

#include <algorithm>
#include <charconv>

#include "verify/ptx/program/decoder.h"

namespace recto::ptx {
namespace {

using text::OperandKind;

}  // namespace

// cp.async.{ca, cg}.shared.global [dst], [src], size[, source size | ignore predicate]
bool Decoder::decode_async_copy() {
  InstructionReader reader(*instruction_);
  if (!reader.take("async")) return refuse();
  if (reader.take("bulk")) return decode_bulk_copy(reader);
  if (reader.take("mbarrier")) return decode_copy_arrival(reader);
  const auto& operands = instruction_->operands;
  if (reader.take("commit_group")) {
    if (reader.has_more() || !operands.empty()) return refuse();
    emit(Action::kAsyncCommit);
    return true;
  }
  if (reader.take("wait_all") || reader.take("wait_group")) {
    const bool is_all = operands.empty();
    if (reader.has_more() || (!is_all && operands[0].kind != OperandKind::kInteger)) {
      return refuse();
    }
    Detail& detail = emit_detail(Action::kAsyncWait);
    detail.count = is_all ? 0 : operands[0].bits;
    detail.is_aligned = !is_all;  // wait_all also waits for what is not committed
    return true;
  }
  if (!reader.take("ca") && !reader.take("cg")) return refuse();
  const std::optional<MemorySpace> to = reader.take_space();
  const std::optional<MemorySpace> from = reader.take_space();
  reader.skip_hints();
  if (to != MemorySpace::kShared || from != MemorySpace::kGlobal || reader.has_more()) {
    return refuse();
  }
  if (operands.size() < 3 || operands.size() > 4 || operands[2].kind != OperandKind::kInteger) {
    return refuse();
  }
  Detail detail;
  detail.count = operands[2].bits;
  if (detail.count != 4 && detail.count != 8 && detail.count != 16) return refuse();
  if (!read_memory_operand(operands[0], *to, &detail.memory) ||
      !read_memory_operand(operands[1], *from, &detail.source)) {
    return false;
  }
  if (operands.size() == 4) {
    if (register_width(operands[3]) == kPredicateWidth) {  // ignore the source, write zeros
      const ValuePlace size = add_value(4);
      emit_lanes("selp.b32", size,
                 {constant(4, 0), constant(4, detail.count), predicate(operands[3])});
      detail.uses.push_back(size);
    } else {
      detail.uses.push_back(source(operands[3], 4, ScalarType::kU32));
    }
  }
  if (!status_.is_ok()) return false;
  emit_detail(Action::kAsyncCopy) = std::move(detail);
  return true;
}

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
  return emit_mbarrier(std::move(detail), operand,
                       has_state ? result(operands[0], 8) : kNoValue);
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

// cp.async.bulk[.tensor.Nd].destination.source.completion[.multicast::cluster] ..., its groups, and
// prefetches, which are hints.
bool Decoder::decode_bulk_copy(InstructionReader& reader) {
  const auto& operands = instruction_->operands;
  if (reader.take("commit_group")) {
    if (reader.has_more() || !operands.empty()) return refuse();
    emit(Action::kBulkCommit);
    return true;
  }
  if (reader.take("wait_group")) return decode_bulk_wait(reader);
  if (reader.take("prefetch")) {
    if (operands.empty() || operands[0].kind != OperandKind::kAddress) return refuse();
    emit(Action::kNothing);
    return true;
  }
  Detail detail;
  std::size_t rank = 0;
  if (reader.take("tensor")) {
    const auto known = reader.take_one_of<std::size_t>(
        {{"1d", 1}, {"2d", 2}, {"3d", 3}, {"4d", 4}, {"5d", 5}});
    if (!known) return refuse();
    rank = *known;
  }
  reader.skip({"tile"});
  const std::optional<MemorySpace> to = reader.take_space();
  const std::optional<MemorySpace> from = reader.take_space();
  reader.skip({"tile"});
  if (!to || !from) return refuse();
  detail.bulk.is_to_shared = *to == MemorySpace::kShared || *to == MemorySpace::kSharedCluster;
  detail.bulk.is_from_shared = detail.bulk.is_to_shared && *from == MemorySpace::kShared;
  const bool is_known = detail.bulk.is_to_shared
                            ? *from == MemorySpace::kGlobal ||
                                  (detail.bulk.is_from_shared && rank == 0 &&
                                   *to == MemorySpace::kSharedCluster)
                            : *to == MemorySpace::kGlobal && *from == MemorySpace::kShared;
  const bool completes = reader.take(detail.bulk.is_to_shared ? "mbarrier::complete_tx::bytes"
                                                              : "bulk_group");
  if (detail.bulk.is_to_shared && *from == MemorySpace::kGlobal) {
    detail.bulk.is_multicast = reader.take("multicast::cluster");
  }
  reader.skip({"cta_group::1"});
  const bool has_hint = reader.take("L2::cache_hint");
  if (!is_known || !completes || reader.has_more()) return refuse();
  detail.memory.space = detail.bulk.is_to_shared ? *to : *from;
  detail.source.space = rank != 0                  ? MemorySpace::kGeneric
                        : detail.bulk.is_to_shared ? *from
                                                   : *to;
  const std::size_t count = (rank != 0 ? 2U : 3U) + (detail.bulk.is_to_shared ? 1U : 0U) +
                            (detail.bulk.is_multicast ? 1U : 0U) + (has_hint ? 1U : 0U);
  if (operands.size() != count) return fail("expected " + std::to_string(count) + " operands");
  if (!read_bulk_operands(rank != 0, &detail)) return false;
  if (detail.bulk.coordinates.size() != rank) {
    return fail("expected " + std::to_string(rank) + " coordinates");
  }
  emit_detail(Action::kBulkCopy) = std::move(detail);
  return true;
}

// [destination], [source], size, [mbarrier], mask, policy: `memory` is shared memory, `source` the
// other side or a tensor map, whose box has the size.
bool Decoder::read_bulk_operands(bool is_tensor, Detail* detail) {
  const auto& operands = instruction_->operands;
  const Operand& to = operands[0];
  const Operand& from = operands[1];
  const Operand& shared = detail->bulk.is_to_shared ? to : from;
  Operand other = detail->bulk.is_to_shared ? from : to;
  if (is_tensor) {
    if (other.kind != OperandKind::kAddress || other.parts.size() != 2) {
      return fail("expected a tensor map and coordinates in brackets");
    }
    if (!read_coordinates(other.parts[1], detail)) return false;
    other.parts.pop_back();
  }
  if (!read_memory_operand(shared, detail->memory.space, &detail->memory) ||
      !read_memory_operand(other, detail->source.space, &detail->source)) {
    return false;
  }
  std::size_t next = 2;
  if (!is_tensor) detail->uses.push_back(source(operands[next++], 4, ScalarType::kU32));
  if (detail->bulk.is_to_shared &&
      !read_memory_operand(operands[next++], detail->memory.space, &detail->signal)) {
    return false;
  }
  if (detail->bulk.is_multicast) {
    detail->uses.push_back(source(operands[next++], 2, ScalarType::kB16));
  }
  if (next < operands.size()) source(operands[next], 8, ScalarType::kB64);  // a policy of caches
  return status_.is_ok();
}

bool Decoder::read_coordinates(const Operand& operand, Detail* detail) {
  std::vector<Operand> parts = operand.parts;
  if (operand.kind != OperandKind::kVector) parts = {operand};
  for (const Operand& part : parts) {
    detail->bulk.coordinates.push_back(source(part, 4, ScalarType::kS32));
  }
  return status_.is_ok();
}

bool Decoder::decode_bulk_wait(InstructionReader& reader) {
  const auto& operands = instruction_->operands;
  const bool is_for_reads = reader.take("read");
  if (reader.has_more() || operands.size() != 1 || operands[0].kind != OperandKind::kInteger) {
    return refuse();
  }
  Detail& detail = emit_detail(Action::kBulkWait);
  detail.count = operands[0].bits;
  detail.is_for_reads = is_for_reads;
  return true;
}

// --- products of warpgroups ----------------------------------------------------------------------

// wgmma.{fence, commit_group, wait_group, mma_async}.sync.aligned
bool Decoder::decode_warpgroup() {
  InstructionReader reader(*instruction_);
  const auto action = reader.take_one_of<Action>({{"fence", Action::kWarpgroupFence},
                                                  {"commit_group", Action::kWarpgroupCommit},
                                                  {"wait_group", Action::kWarpgroupWait},
                                                  {"mma_async", Action::kWarpgroupProduct}});
  if (!action || !reader.take("sync") || !reader.take("aligned")) return refuse();
  if (*action == Action::kWarpgroupProduct) return decode_warpgroup_product(reader);
  const auto& operands = instruction_->operands;
  const bool waits = *action == Action::kWarpgroupWait;
  if (reader.has_more() || operands.size() != (waits ? 1U : 0U)) return refuse();
  if (!waits) {
    emit(*action);
    return true;
  }
  if (operands[0].kind != OperandKind::kInteger) return refuse();
  emit_detail(*action).count = operands[0].bits;
  return true;
}

// .m64nNkK.dtype.atype.btype d, a, b, scale-d, negations, transpositions
bool Decoder::decode_warpgroup_product(InstructionReader& reader) {
  const std::string shape(reader.peek());
  if (!reader.take(shape) || shape.substr(0, 4) != "m64n") return refuse();
  const std::size_t k = shape.find('k');
  if (k == std::string::npos) return refuse();
  int depth = 0;
  Detail detail;
  WgmmaShape& product = detail.warpgroup;
  std::from_chars(shape.data() + 4, shape.data() + k, product.columns);
  std::from_chars(shape.data() + k + 1, shape.data() + shape.size(), depth);
  if (!read_factors(reader, &detail) || product.depth() != depth) return refuse();
  const auto& operands = instruction_->operands;
  const bool has_registers = operands.size() > 1 && operands[1].kind == OperandKind::kVector;
  const bool may_transpose = element_bits(product.a) == 16;
  const std::size_t count = may_transpose ? (has_registers ? 7U : 8U) : 6U;
  if (operands.size() != count) return fail("expected " + std::to_string(count) + " operands");
  for (std::size_t i = 4; i < count; ++i) {
    if (operands[i].kind != OperandKind::kInteger) return refuse();
  }
  const auto minus = [&](std::size_t i) {
    return operands[i].bits == 1 ? FactorSign::kPlus : FactorSign::kMinus;
  };
  const auto major = [&](std::size_t i) { return operands[i].bits == 0 ? Major::kK : Major::kMn; };
  product.sign_a = minus(4);
  product.sign_b = minus(5);
  if (may_transpose && !has_registers) detail.major_a = major(6);
  if (may_transpose) detail.major_b = major(count - 1);
  const std::size_t sums = static_cast<std::size_t>(product.d_registers());
  if (operands[0].parts.size() != sums || (has_registers && operands[1].parts.size() != 4)) {
    return fail("expected a vector of " + std::to_string(sums) + ", and of 4 if A is in registers");
  }
  detail.width = 4;
  detail.uses.push_back(predicate(operands[3]));
  for (const Operand& part : operands[0].parts) {
    detail.defs.push_back(result(part, 4));
    detail.uses.push_back(detail.defs.back());
  }
  for (const Operand& part : operands[1].parts) {
    if (has_registers) detail.uses.push_back(source(part, 4, ScalarType::kB32));
  }
  const ValuePlace a = has_registers ? kNoValue : source(operands[1], 8, ScalarType::kB64);
  const ValuePlace b = source(operands[2], 8, ScalarType::kB64);
  if (!status_.is_ok()) return false;
  emit_detail(Action::kWarpgroupProduct) = std::move(detail);
  Step& step = draft_.program.steps.back();
  step.a = a;
  step.b = b;
  step.uses = static_cast<std::uint8_t>(kFieldB | (has_registers ? 0 : kFieldA));
  return true;
}

bool Decoder::read_factors(InstructionReader& reader, Detail* detail) {
  const auto sum =
      reader.take_one_of<SumType>({{"f32", SumType::kF32}, {"f16", SumType::kF16}});
  const auto take_factor = [&] {
    return reader.take_one_of<FactorType>({{"f16", FactorType::kF16},
                                           {"bf16", FactorType::kBf16},
                                           {"tf32", FactorType::kTf32},
                                           {"e4m3", FactorType::kE4m3},
                                           {"e5m2", FactorType::kE5m2}});
  };
  const auto a = take_factor();
  const auto b = take_factor();
  if (!sum || !a || !b || reader.has_more()) return false;
  detail->warpgroup.sum = *sum;
  detail->warpgroup.a = *a;
  detail->warpgroup.b = *b;
  return is_supported(detail->warpgroup);
}

}  // namespace recto::ptx
