// Asynchronous copies: cp.async, and cp.async.bulk, which TMA does.

#include "verify/ptx/program/families.h"

namespace recto::ptx {
namespace {

bool is_integer_literal(const Operand& operand) { return operand.kind == OperandKind::kInteger; }

void decode_commit(Decoding& at, Action action) {
  if (at.has_more() || !at.operands().empty()) return at.refuse();
  at.emit(action);
}

// cp.async.wait_all, cp.async.wait_group n
void decode_wait(Decoding& at) {
  const bool is_all = at.operands().empty();
  if (at.has_more() || (!is_all && !is_integer_literal(at.operands()[0]))) return at.refuse();
  Detail detail;
  detail.count = is_all ? 0 : at.operands()[0].bits;
  detail.is_wait_for_all = is_all;
  at.emit(Action::kAsyncWait, std::move(detail));
}

// cp.async.bulk.wait_group[.read] n
void decode_bulk_wait(Decoding& at) {
  Detail detail;
  detail.is_for_reads = at.take("read");
  if (at.has_more() || at.operands().size() != 1 || !is_integer_literal(at.operands()[0])) {
    return at.refuse();
  }
  detail.count = at.operands()[0].bits;
  at.emit(Action::kBulkWait, std::move(detail));
}

// [destination], [source], size, [mbarrier], mask, policy: `memory` is shared memory, `source` the
// other side or a tensor map, whose box has the size.
void read_bulk_operands(Decoding& at, std::size_t rank, Detail* detail) {
  const std::vector<Operand>& operands = at.operands();
  const bool is_to_shared = detail->bulk.is_to_shared;
  Operand other = operands[is_to_shared ? 1 : 0];
  if (rank != 0) {
    if (other.kind != OperandKind::kAddress || other.parts.size() != 2) {
      return at.fail("expected a tensor map and coordinates in brackets");
    }
    const Operand coordinates = other.parts[1];
    other.parts.pop_back();
    const bool is_vector = coordinates.kind == OperandKind::kVector;
    for (const Operand& part : is_vector ? coordinates.parts : std::vector{coordinates}) {
      detail->bulk.coordinates.push_back(at.source32(part));
    }
    if (detail->bulk.coordinates.size() != rank) {
      return at.fail("expected " + std::to_string(rank) + " coordinates");
    }
  }
  const MemorySpace shared_space = detail->memory.space;
  detail->memory = at.memory(operands[is_to_shared ? 0 : 1], shared_space);
  detail->source = at.memory(other, detail->source.space);
  std::size_t next = 2;
  if (rank == 0) detail->uses.push_back(at.source32(operands[next++]));
  if (is_to_shared) detail->signal = at.memory(operands[next++], shared_space);
  if (detail->bulk.is_multicast) {
    detail->uses.push_back(at.source(operands[next++], 2, ScalarType::kB16));
  }
}

// .destination.source.completion[.multicast::cluster][.L2::cache_hint]
void decode_bulk_copy(Decoding& at) {
  Detail detail;
  BulkForm& bulk = detail.bulk;
  std::size_t rank = 0;
  if (at.take("tensor")) {
    const auto known =
        at.take_one_of<std::size_t>({{"1d", 1}, {"2d", 2}, {"3d", 3}, {"4d", 4}, {"5d", 5}});
    if (!known) return at.refuse();
    rank = *known;
  }
  at.skip({"tile"});
  const std::optional<MemorySpace> to = at.take_space();
  const std::optional<MemorySpace> from = at.take_space();
  at.skip({"tile"});
  if (!to || !from) return at.refuse();
  bulk.is_to_shared = *to == MemorySpace::kShared || *to == MemorySpace::kSharedCluster;
  const bool is_between_blocks =
      *from == MemorySpace::kShared && rank == 0 && *to == MemorySpace::kSharedCluster;
  const bool is_known = bulk.is_to_shared
                            ? *from == MemorySpace::kGlobal || is_between_blocks
                            : *to == MemorySpace::kGlobal && *from == MemorySpace::kShared;
  const bool completes = at.take(bulk.is_to_shared ? "mbarrier::complete_tx::bytes" : "bulk_group");
  bulk.is_multicast =
      bulk.is_to_shared && *from == MemorySpace::kGlobal && at.take("multicast::cluster");
  at.skip({"cta_group::1"});
  at.skip_hints();
  if (!is_known || !completes || at.has_more()) return at.refuse();
  detail.memory.space = bulk.is_to_shared ? *to : *from;
  detail.source.space = rank != 0 ? MemorySpace::kGeneric : bulk.is_to_shared ? *from : *to;
  const std::size_t count =
      (rank != 0 ? 2U : 3U) + (bulk.is_to_shared ? 1U : 0U) + (bulk.is_multicast ? 1U : 0U);
  if (!at.has_operands(count)) return;
  read_bulk_operands(at, rank, &detail);
  at.emit(Action::kBulkCopy, std::move(detail));
}

// cp.async.bulk, its groups, and prefetches, which are hints.
void decode_bulk(Decoding& at) {
  if (at.take("commit_group")) return decode_commit(at, Action::kBulkCommit);
  if (at.take("wait_group")) return decode_bulk_wait(at);
  if (!at.take("prefetch")) return decode_bulk_copy(at);
  if (at.operands().empty() || at.operands()[0].kind != OperandKind::kAddress) return at.refuse();
  at.emit(Action::kNothing);
}

}  // namespace

// cp.async.{ca, cg}.shared.global [dst], [src], size[, source size | ignore predicate][, policy]
void decode_copy(Decoding& at) {
  if (!at.take("async")) return at.refuse();
  if (at.take("bulk")) return decode_bulk(at);
  if (at.take("mbarrier")) return decode_copy_arrival(at);
  if (at.take("commit_group")) return decode_commit(at, Action::kAsyncCommit);
  if (at.take("wait_all") || at.take("wait_group")) return decode_wait(at);
  const bool is_global = at.take("cg");  // past the first cache: 16 bytes only
  if (!is_global && !at.take("ca")) return at.refuse();
  const std::optional<MemorySpace> to = at.take_space();
  const std::optional<MemorySpace> from = at.take_space();
  at.skip_hints();
  const std::vector<Operand>& operands = at.operands();
  const std::size_t count =
      at.has_modifier("L2::cache_hint") ? operands.size() - 1 : operands.size();
  if (to != MemorySpace::kShared || from != MemorySpace::kGlobal || at.has_more() ||
      operands.size() < 3 || !is_integer_literal(operands[2])) {
    return at.refuse();
  }
  if (!at.has_operands(count == 4 ? 4 : 3)) return;
  Detail detail;
  detail.count = operands[2].bits;
  const bool is_small = detail.count == 4 || detail.count == 8;
  if (detail.count != 16 && (is_global || !is_small)) return at.refuse();
  detail.memory = at.memory(operands[0], *to);
  detail.source = at.memory(operands[1], *from);
  if (count == 4 && at.register_width(operands[3]) == kPredicateWidth) {
    // The source is ignored, and zeros are written.
    const ValuePlace ignores = at.predicate(operands[3]);
    detail.uses.push_back(
        at.emit_value("selp.b32", 4, {at.constant(4, 0), at.constant(4, detail.count), ignores}));
  } else if (count == 4) {
    detail.uses.push_back(at.source(operands[3], 4, ScalarType::kU32));
  }
  at.emit(Action::kAsyncCopy, std::move(detail));
}

}  // namespace recto::ptx
