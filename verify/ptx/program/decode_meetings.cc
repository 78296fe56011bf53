// Instructions in which lanes, warps or thread blocks meet.

#include "verify/ptx/program/families.h"

namespace recto::ptx {
namespace {

// barrier.cluster.arrive[.release | .relaxed][.aligned], barrier.cluster.wait[.acquire][.aligned]
void decode_cluster_barrier(Decoding& at) {
  const auto action =
      at.take_one_of<Action>({{"arrive", Action::kClusterArrive}, {"wait", Action::kClusterWait}});
  if (!action) return at.refuse();
  const auto ordering = *action == Action::kClusterArrive
                            ? at.take_one_of<Ordering>({{"release", Ordering::kRelease},
                                                        {"relaxed", Ordering::kRelaxed}})
                            : at.take_one_of<Ordering>({{"acquire", Ordering::kAcquire}});
  at.skip({"aligned"});
  if (at.has_more() || !at.operands().empty()) return at.refuse();
  Detail detail;
  detail.ordering = ordering.value_or(Ordering::kWeak);
  at.emit(*action, std::move(detail));
}

// bar.warp.sync mask
void decode_warp_barrier(Decoding& at) {
  if (!at.take("sync") || at.has_more() || at.operands().size() != 1) return at.refuse();
  const ValuePlace mask = at.source32(at.operands()[0]);
  at.emit(Action::kWarpBarrier, {.a = mask});
}

// The mask of lanes that take part, and the results.
void emit_exchange(Decoding& at, Action action, Detail detail, Fields fields) {
  detail.uses = {at.source32(at.operands().back())};
  const Fields results = at.results(at.operands()[0]);
  fields.d = results.d;
  fields.d_width = results.d_width;
  fields.e = results.e;
  at.emit(action, std::move(detail), fields);
}

}  // namespace

// bar[.cta].{sync, arrive, red.op}, barrier.{sync, arrive, red.op}[.aligned] [d,] a[, b][, [!]p]
void decode_barrier(Decoding& at) {
  if (at.take("warp")) return decode_warp_barrier(at);
  if (at.opcode() == "barrier" && at.take("cluster")) return decode_cluster_barrier(at);
  at.skip({"cta"});
  Detail detail;
  const bool is_reduction = at.take("red");
  const auto mode = is_reduction ? at.take_one_of<BarrierMode>({{"popc", BarrierMode::kPopulation},
                                                                {"and", BarrierMode::kAnd},
                                                                {"or", BarrierMode::kOr}})
                                 : at.take_one_of<BarrierMode>({{"sync", BarrierMode::kSync},
                                                                {"arrive", BarrierMode::kArrive}});
  if (!mode) return at.refuse();
  detail.barrier = *mode;
  detail.is_aligned = at.take("aligned") || at.opcode() == "bar";
  const bool is_count = *mode == BarrierMode::kPopulation;
  if (is_reduction && !at.take(is_count ? "u32" : "pred")) return at.refuse();
  if (at.has_more()) return at.refuse();
  const std::vector<Operand>& operands = at.operands();
  const std::size_t first = is_reduction ? 1 : 0;
  const std::size_t others = is_reduction ? 2 : 0;
  if (operands.size() < others + 1 || operands.size() > others + 2) {
    return at.fail("expected other operands");
  }
  if (*mode == BarrierMode::kArrive && operands.size() == 1) {
    return at.fail("expected a number of threads");
  }
  const ValuePlace number = at.source32(operands[first]);
  const ValuePlace count =
      operands.size() == others + 2 ? at.source32(operands[first + 1]) : at.constant(4, 0);
  if (is_reduction) {
    detail.width = is_count ? Width{4} : kPredicateWidth;
    detail.uses.push_back(at.predicate(operands.back()));
    detail.defs.push_back(at.result(operands[0], detail.width));
  }
  at.emit(Action::kBarrier, std::move(detail), {.a = number, .b = count});
}

// membar and fence.
void decode_fence(Decoding& at) {
  at.skip({"sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "gl", "sys", "proxy",
           "async", "alias", "async::generic", "global", "shared::cta", "shared::cluster",
           "mbarrier_init", "sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  if (at.has_more()) return at.refuse();
  Detail detail;
  detail.is_proxy = at.has_modifier("proxy");
  detail.is_of_block = at.has_modifier("cta");
  if (detail.is_proxy && at.has_modifier("alias")) {
    at.emit(Action::kNothing);
    return;
  }
  at.emit(Action::kFence, std::move(detail));
}

// shfl.sync.mode.b32 d[|p], a, b, c, membermask
void decode_shuffle(Decoding& at) {
  if (!at.take("sync")) return at.refuse();
  const auto mode = at.take_one_of<ShuffleMode>({{"up", ShuffleMode::kUp},
                                                 {"down", ShuffleMode::kDown},
                                                 {"bfly", ShuffleMode::kButterfly},
                                                 {"idx", ShuffleMode::kIndex}});
  const std::vector<Operand>& operands = at.operands();
  if (!mode || !at.take("b32") || at.has_more() || operands.size() != 5) return at.refuse();
  Detail detail;
  detail.shuffle = *mode;
  detail.width = 4;
  Fields fields;
  fields.a = at.source32(operands[1]);
  fields.b = at.source32(operands[2]);
  fields.c = at.source32(operands[3]);
  emit_exchange(at, Action::kShuffle, std::move(detail), fields);
}

// vote.sync.{all, any, uni}.pred d, [!]a, mask and vote.sync.ballot.b32
void decode_vote(Decoding& at) {
  if (!at.take("sync")) return at.refuse();
  const auto mode = at.take_one_of<VoteMode>({{"all", VoteMode::kAll},
                                              {"any", VoteMode::kAny},
                                              {"uni", VoteMode::kUniform},
                                              {"ballot", VoteMode::kBallot}});
  if (!mode || at.operands().size() != 3) return at.refuse();
  const bool is_ballot = *mode == VoteMode::kBallot;
  if (!at.take(is_ballot ? "b32" : "pred") || at.has_more()) return at.refuse();
  const ValuePlace a = at.predicate(at.operands()[1]);
  const Width width = is_ballot ? Width{4} : kPredicateWidth;
  Detail detail;
  detail.vote = *mode;
  detail.uses = {at.source32(at.operands()[2])};
  const ValuePlace d = at.result(at.operands()[0], width);
  at.emit(Action::kVote, std::move(detail), {.d = d, .d_width = width, .a = a});
}

// match.{any, all}.sync.type d[|p], a, mask
void decode_match(Decoding& at) {
  Detail detail;
  const auto mode = at.take_one_of<VoteMode>({{"any", VoteMode::kAny}, {"all", VoteMode::kAll}});
  if (!mode || !at.take("sync")) return at.refuse();
  detail.vote = *mode;
  const std::optional<ScalarType> type = at.take_type();
  if (!type || at.has_more() || is_float(*type) || bits_of(*type) < 32 || bits_of(*type) > 64 ||
      at.operands().size() != 3) {
    return at.refuse();
  }
  detail.type = *type;
  detail.width = static_cast<Width>(bytes_of(*type));
  const ValuePlace a = at.source(at.operands()[1], detail.width, *type);
  emit_exchange(at, Action::kMatch, std::move(detail), {.a = a});
}

// redux.sync.op.type d, a, mask
void decode_reduction(Decoding& at) {
  using enum AtomicOperation;
  if (!at.take("sync")) return at.refuse();
  const auto operation = at.take_one_of<AtomicOperation>(
      {{"add", kAdd}, {"min", kMin}, {"max", kMax}, {"and", kAnd}, {"or", kOr}, {"xor", kXor}});
  const std::optional<ScalarType> type = at.take_type();
  if (!operation || !type || at.has_more() || is_float(*type) || bits_of(*type) != 32 ||
      at.operands().size() != 3) {
    return at.refuse();
  }
  Detail detail;
  detail.atomic = *operation;
  detail.type = *type;
  detail.width = 4;
  const ValuePlace a = at.source(at.operands()[1], 4, *type);
  emit_exchange(at, Action::kReduce, std::move(detail), {.a = a});
}

// activemask.b32 d
void decode_active_mask(Decoding& at) {
  if (!at.take("b32") || at.has_more()) return at.refuse();
  if (!at.has_operands(1)) return;
  if (at.operands()[0].kind == OperandKind::kPair) return at.refuse();
  at.emit(Action::kActiveMask, Detail{}, at.results(at.operands()[0]));
}

// elect.sync d|p, mask
void decode_election(Decoding& at) {
  if (!at.take("sync") || at.has_more()) return at.refuse();
  if (!at.has_operands(2)) return;
  if (at.operands()[0].kind != OperandKind::kPair) return at.refuse();
  emit_exchange(at, Action::kElect, Detail{}, {});
}

}  // namespace recto::ptx
