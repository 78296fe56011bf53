// Clusters, fences and registers of a warp.

#include <algorithm>

#include "verify/ptx/program/decoder.h"

namespace recto::ptx {
namespace {

using text::OperandKind;

// PTX ISA, "setmaxnreg".
constexpr std::uint64_t kRegistersMin = 24;
constexpr std::uint64_t kRegistersMax = 256;

bool has_modifier(const text::Instruction& instruction, std::string_view modifier) {
  const auto& modifiers = instruction.modifiers;
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

}  // namespace

// barrier.cluster.arrive[.release | .relaxed][.aligned], barrier.cluster.wait[.acquire][.aligned]
bool Decoder::decode_cluster_barrier(InstructionReader& reader) {
  const auto action = reader.take_one_of<Action>(
      {{"arrive", Action::kClusterArrive}, {"wait", Action::kClusterWait}});
  if (!action) return refuse();
  const auto ordering = *action == Action::kClusterArrive
                            ? reader.take_one_of<Ordering>({{"release", Ordering::kRelease},
                                                            {"relaxed", Ordering::kRelaxed}})
                            : reader.take_one_of<Ordering>({{"acquire", Ordering::kAcquire}});
  reader.skip({"aligned"});
  if (reader.has_more() || !instruction_->operands.empty()) return refuse();
  emit_detail(*action).ordering = ordering.value_or(Ordering::kWeak);
  return true;
}

// mapa[.shared::cluster].type d, a, b: the rank and one is the upper byte of 32 bits.
bool Decoder::decode_mapped_address() {
  InstructionReader reader(*instruction_);
  reader.skip({"shared::cluster"});
  const std::optional<ScalarType> type = reader.take_type();
  const auto& operands = instruction_->operands;
  if (!type || !is_unsigned(*type) || bits_of(*type) < 32 || reader.has_more()) return refuse();
  if (operands.size() != 3) return fail("expected 3 operands");
  const auto width = static_cast<Width>(bytes_of(*type));
  const std::string suffix = width == 4 ? "32" : "64";
  const ValuePlace a = source(operands[1], width, *type);
  const ValuePlace rank = source(operands[2], 4, ScalarType::kU32);
  const ValuePlace d = result(operands[0], width);
  if (!status_.is_ok()) return false;
  const ValuePlace next = add_value(4);
  const ValuePlace shifted = add_value(4);
  const ValuePlace plain = add_value(width);
  emit_lanes("add.u32", next, {rank, constant(4, 1)});
  emit_lanes("shl.b32", shifted, {next, constant(4, kRankShift)});
  emit_lanes("and.b" + suffix, plain, {a, constant(width, ~std::uint64_t{kRankMask})});
  ValuePlace wide = shifted;
  if (width == 8) emit_lanes("cvt.u64.u32", wide = add_value(8), {shifted});
  emit_lanes("or.b" + suffix, d, {plain, wide});
  return status_.is_ok();
}

// getctarank[.shared::cluster].type d, a
bool Decoder::decode_rank_of_address() {
  InstructionReader reader(*instruction_);
  reader.skip({"shared::cluster"});
  const std::optional<ScalarType> type = reader.take_type();
  const auto& operands = instruction_->operands;
  if (!type || !is_unsigned(*type) || bits_of(*type) < 32 || reader.has_more()) return refuse();
  if (operands.size() != 2) return fail("expected 2 operands");
  const auto width = static_cast<Width>(bytes_of(*type));
  ValuePlace address = source(operands[1], width, *type);
  const ValuePlace d = result(operands[0], 4);
  if (!status_.is_ok()) return false;
  if (width == 8) {
    const ValuePlace narrow = add_value(4);
    emit_lanes("cvt.u32.u64", narrow, {address});
    address = narrow;
  }
  const ValuePlace upper = add_value(4);
  const ValuePlace is_own = add_value(kPredicateWidth);
  const ValuePlace rank = add_value(4);
  emit_lanes("shr.u32", upper, {address, constant(4, kRankShift)});
  emit_lanes("setp.eq.u32", is_own, {upper, constant(4, 0)});
  emit_lanes("sub.u32", rank, {upper, constant(4, 1)});
  emit_lanes("selp.b32", d, {special(SpecialValue::kClusterCtarank, 4), rank, is_own});
  return status_.is_ok();
}

// membar and fence. Only what orders other thread blocks, or the asynchronous proxy, is checked.
bool Decoder::decode_fence() {
  InstructionReader reader(*instruction_);
  reader.skip({"sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "gl", "sys", "proxy",
               "async", "alias", "async::generic", "global", "shared::cta", "shared::cluster",
               "mbarrier_init", "sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  if (reader.has_more()) return refuse();
  const bool is_proxy = has_modifier(*instruction_, "proxy");
  if (is_proxy && has_modifier(*instruction_, "alias")) {
    emit(Action::kNothing);
    return true;
  }
  Detail& detail = emit_detail(Action::kFence);
  detail.is_of_block = has_modifier(*instruction_, "cta");
  detail.is_proxy = is_proxy;
  return true;
}

// setmaxnreg.{inc, dec}.sync.aligned.u32 n: how many registers there are does not matter here.
bool Decoder::decode_register_count() {
  InstructionReader reader(*instruction_);
  const bool is_known = reader.take("inc") || reader.take("dec");
  const auto& operands = instruction_->operands;
  if (!is_known || !reader.take("sync") || !reader.take("aligned") || !reader.take("u32") ||
      reader.has_more() || operands.size() != 1 || operands[0].kind != OperandKind::kInteger) {
    return refuse();
  }
  const std::uint64_t count = operands[0].bits;
  if (count < kRegistersMin || count > kRegistersMax || count % 8 != 0) {
    return fail("expected a multiple of 8 from 24 to 256");
  }
  emit(Action::kNothing);
  return true;
}

}  // namespace recto::ptx
