// Instructions in which lanes, warps or thread blocks meet, and those without operands.

#include "verify/ptx/program/decoder.h"

namespace recto::ptx {
namespace {

using text::OperandKind;

}  // namespace

// bar[.cta].{sync, arrive, red.op}, barrier.{sync, arrive, red.op}[.aligned], bar.warp.sync
bool Decoder::decode_barrier() {
  InstructionReader reader(*instruction_);
  const auto& operands = instruction_->operands;
  if (reader.take("warp")) {
    if (!reader.take("sync") || reader.has_more() || operands.size() != 1) return refuse();
    const ValuePlace mask = source(operands[0], 4, ScalarType::kB32);
    Step& step = emit(Action::kWarpBarrier);
    step.a = mask;
    step.uses = kFieldA;
    return status_.is_ok();
  }
  if (instruction_->opcode == "barrier" && reader.take("cluster")) {
    return decode_cluster_barrier(reader);
  }
  reader.skip({"cta"});
  Detail detail;
  detail.is_aligned = instruction_->opcode == "bar";
  const bool is_reduction = reader.take("red");
  if (!is_reduction) {
    const auto mode = reader.take_one_of<BarrierMode>(
        {{"sync", BarrierMode::kSync}, {"arrive", BarrierMode::kArrive}});
    if (!mode) return refuse();
    detail.barrier = *mode;
  } else {
    const auto mode = reader.take_one_of<BarrierMode>(
        {{"popc", BarrierMode::kPopulation}, {"and", BarrierMode::kAnd}, {"or", BarrierMode::kOr}});
    if (!mode) return refuse();
    detail.barrier = *mode;
  }
  if (reader.take("aligned")) detail.is_aligned = true;
  const bool is_count = detail.barrier == BarrierMode::kPopulation;
  if (is_reduction && !reader.take(is_count ? "u32" : "pred")) return refuse();
  if (reader.has_more()) return refuse();
  // [d,] a[, b][, [!]p]
  std::size_t next = is_reduction ? 1 : 0;
  const std::size_t last = operands.size() - (is_reduction ? 1 : 0);
  if (operands.size() < next + 1 + (is_reduction ? 1 : 0) || last - next > 2) {
    return fail("operands are missing");
  }
  const ValuePlace number = source(operands[next], 4, ScalarType::kU32);
  const ValuePlace count =
      last - next == 2 ? source(operands[next + 1], 4, ScalarType::kU32) : constant(4, 0);
  if (is_reduction) {
    detail.uses.push_back(predicate(operands.back()));
    detail.defs.push_back(result(operands[0], is_count ? Width{4} : kPredicateWidth));
    detail.width = is_count ? 4 : kPredicateWidth;
  }
  if (!status_.is_ok()) return false;
  emit_detail(Action::kBarrier) = std::move(detail);
  Step& step = draft_.program.steps.back();
  step.a = number;
  step.b = count;
  step.uses = kFieldA | kFieldB;
  return true;
}

// shfl.sync.mode.b32 d[|p], a, b, c, membermask
bool Decoder::decode_shuffle() {
  InstructionReader reader(*instruction_);
  if (!reader.take("sync")) return refuse();
  const auto mode = reader.take_one_of<ShuffleMode>({{"up", ShuffleMode::kUp},
                                                     {"down", ShuffleMode::kDown},
                                                     {"bfly", ShuffleMode::kButterfly},
                                                     {"idx", ShuffleMode::kIndex}});
  const auto& operands = instruction_->operands;
  if (!mode || !reader.take("b32") || reader.has_more() || operands.size() != 5) return refuse();
  Detail detail;
  detail.shuffle = *mode;
  detail.width = 4;
  const bool is_pair = operands[0].kind == OperandKind::kPair;
  const ValuePlace a = source(operands[1], 4, ScalarType::kB32);
  const ValuePlace b = source(operands[2], 4, ScalarType::kB32);
  const ValuePlace c = source(operands[3], 4, ScalarType::kB32);
  detail.uses = {source(operands[4], 4, ScalarType::kB32)};
  const ValuePlace d = result(is_pair ? operands[0].parts[0] : operands[0], 4);
  const ValuePlace p = is_pair ? result(operands[0].parts[1], kPredicateWidth) : kNoValue;
  if (!status_.is_ok()) return false;
  emit_detail(Action::kShuffle) = std::move(detail);
  Step& step = draft_.program.steps.back();
  step.d = d;
  step.d_width = 4;
  step.e = p;
  step.a = a;
  step.b = b;
  step.c = c;
  step.defs = static_cast<std::uint8_t>(kFieldD | (is_pair ? kFieldE : 0));
  step.uses = kFieldA | kFieldB | kFieldC;
  return true;
}

// vote.sync.{all, any, uni}.pred d, [!]a, mask and vote.sync.ballot.b32
bool Decoder::decode_vote() {
  InstructionReader reader(*instruction_);
  if (!reader.take("sync")) return refuse();
  const auto mode = reader.take_one_of<VoteMode>({{"all", VoteMode::kAll},
                                                  {"any", VoteMode::kAny},
                                                  {"uni", VoteMode::kUniform},
                                                  {"ballot", VoteMode::kBallot}});
  const auto& operands = instruction_->operands;
  if (!mode || operands.size() != 3) return refuse();
  const bool is_ballot = *mode == VoteMode::kBallot;
  if (!reader.take(is_ballot ? "b32" : "pred") || reader.has_more()) return refuse();
  const ValuePlace a = predicate(operands[1]);
  const Width width = is_ballot ? Width{4} : kPredicateWidth;
  const ValuePlace d = result(operands[0], width);
  const ValuePlace mask = source(operands[2], 4, ScalarType::kB32);
  if (!status_.is_ok()) return false;
  Detail& detail = emit_detail(Action::kVote);
  detail.vote = *mode;
  detail.uses = {mask};
  Step& step = draft_.program.steps.back();
  step.d = d;
  step.d_width = width;
  step.a = a;
  step.defs = kFieldD;
  step.uses = kFieldA;
  return true;
}

// match.{any, all}.sync.type d[|p], a, mask and redux.sync.op.type d, a, mask
bool Decoder::decode_match_or_reduce() {
  using enum AtomicOperation;
  InstructionReader reader(*instruction_);
  const bool is_match = instruction_->opcode == "match";
  Detail detail;
  bool is_any = false;
  if (is_match) {
    is_any = reader.take("any");
    if (!is_any && !reader.take("all")) return refuse();
    detail.vote = is_any ? VoteMode::kAny : VoteMode::kAll;
  }
  if (!reader.take("sync")) return refuse();
  if (!is_match) {
    const auto operation = reader.take_one_of<AtomicOperation>(
        {{"add", kAdd}, {"min", kMin}, {"max", kMax}, {"and", kAnd}, {"or", kOr}, {"xor", kXor}});
    if (!operation) return refuse();
    detail.atomic = *operation;
  }
  const std::optional<ScalarType> type = reader.take_type();
  const auto& operands = instruction_->operands;
  if (!type || reader.has_more() || operands.size() != 3 || is_float(*type)) return refuse();
  if (bits_of(*type) != 32 && !(is_match && bits_of(*type) == 64)) return refuse();
  detail.type = *type;
  detail.width = static_cast<Width>(bytes_of(*type));
  const bool is_pair = operands[0].kind == OperandKind::kPair;
  const ValuePlace a = source(operands[1], detail.width, *type);
  detail.uses = {source(operands[2], 4, ScalarType::kB32)};
  const ValuePlace d = result(is_pair ? operands[0].parts[0] : operands[0], 4);
  const ValuePlace p = is_pair ? result(operands[0].parts[1], kPredicateWidth) : kNoValue;
  if (!status_.is_ok()) return false;
  emit_detail(is_match ? Action::kMatch : Action::kReduce) = std::move(detail);
  Step& step = draft_.program.steps.back();
  step.d = d;
  step.d_width = 4;
  step.e = p;
  step.a = a;
  step.defs = static_cast<std::uint8_t>(kFieldD | (is_pair ? kFieldE : 0));
  step.uses = kFieldA;
  return true;
}

bool Decoder::decode_simple() {
  const std::string_view opcode = instruction_->opcode;
  const auto& operands = instruction_->operands;
  if (opcode == "exit" || (opcode == "ret" && frame_->caller == nullptr)) {
    emit(Action::kExit);
    return true;
  }
  if (opcode == "ret") {
    emit(Action::kBranch);
    frame_->branches.emplace_back(draft_.program.steps.size() - 1,
                                  frame_->function->instructions.size());
    return true;
  }
  if (opcode == "trap" || opcode == "brkpt") {
    emit(Action::kTrap);
    return true;
  }
  if (opcode == "activemask" || opcode == "elect") {
    const bool is_elect = opcode == "elect";
    if (operands.size() != (is_elect ? 2U : 1U)) return fail("operands are missing");
    const bool is_pair = operands[0].kind == OperandKind::kPair;
    if (is_elect != is_pair) return refuse();
    const ValuePlace d = result(is_pair ? operands[0].parts[0] : operands[0], 4);
    const ValuePlace p = is_pair ? result(operands[0].parts[1], kPredicateWidth) : kNoValue;
    const ValuePlace mask = is_elect ? source(operands[1], 4, ScalarType::kB32) : kNoValue;
    if (!status_.is_ok()) return false;
    Detail& detail = emit_detail(is_elect ? Action::kElect : Action::kActiveMask);
    if (is_elect) detail.uses = {mask};
    Step& step = draft_.program.steps.back();
    step.d = d;
    step.d_width = 4;
    step.e = p;
    step.defs = static_cast<std::uint8_t>(kFieldD | (is_pair ? kFieldE : 0));
    return true;
  }
  emit(Action::kNothing);  // hints for caches, clocks and launches
  return true;
}

}  // namespace recto::ptx
