// Asynchronous copies.

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
    detail.is_wait_for_all = is_all;
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
    const auto known =
        reader.take_one_of<std::size_t>({{"1d", 1}, {"2d", 2}, {"3d", 3}, {"4d", 4}, {"5d", 5}});
    if (!known) return refuse();
    rank = *known;
  }
  reader.skip({"tile"});
  const std::optional<MemorySpace> to = reader.take_space();
  const std::optional<MemorySpace> from = reader.take_space();
  reader.skip({"tile"});
  if (!to || !from) return refuse();
  detail.bulk.is_to_shared = *to == MemorySpace::kShared || *to == MemorySpace::kSharedCluster;
  const bool is_known =
      detail.bulk.is_to_shared
          ? *from == MemorySpace::kGlobal ||
                (*from == MemorySpace::kShared && rank == 0 && *to == MemorySpace::kSharedCluster)
          : *to == MemorySpace::kGlobal && *from == MemorySpace::kShared;
  const bool completes =
      reader.take(detail.bulk.is_to_shared ? "mbarrier::complete_tx::bytes" : "bulk_group");
  if (detail.bulk.is_to_shared && *from == MemorySpace::kGlobal) {
    detail.bulk.is_multicast = reader.take("multicast::cluster");
  }
  reader.skip({"cta_group::1"});
  const bool has_hint = reader.take("L2::cache_hint");
  if (!is_known || !completes || reader.has_more()) return refuse();
  detail.memory.space = detail.bulk.is_to_shared ? *to : *from;
  detail.source.space = rank != 0 ? MemorySpace::kGeneric : detail.bulk.is_to_shared ? *from : *to;
  const std::size_t count = (rank != 0 ? 2U : 3U) + (detail.bulk.is_to_shared ? 1U : 0U) +
                            (detail.bulk.is_multicast ? 1U : 0U) + (has_hint ? 1U : 0U);
  if (operands.size() != count) return fail("expected " + std::to_string(count) + " operands");
  if (!read_bulk_operands(&detail)) return false;
  if (detail.bulk.coordinates.size() != rank) {
    return fail("expected " + std::to_string(rank) + " coordinates");
  }
  emit_detail(Action::kBulkCopy) = std::move(detail);
  return true;
}

// [destination], [source], size, [mbarrier], mask, policy: `memory` is shared memory, `source` the
// other side or a tensor map, whose box has the size.
bool Decoder::read_bulk_operands(Detail* detail) {
  const bool is_tensor = detail->source.space == MemorySpace::kGeneric;
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

}  // namespace recto::ptx
