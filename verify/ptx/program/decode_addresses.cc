// Addresses of one space as those of another.

#include "verify/ptx/program/families.h"

namespace recto::ptx {
namespace {

// Windows of generic addresses.
std::optional<std::uint64_t> take_window(Decoding& at) {
  const std::optional<MemorySpace> space = at.take_space();
  if (!space) return std::nullopt;
  switch (*space) {
    case MemorySpace::kShared:
    case MemorySpace::kSharedCluster:
      return kSharedWindow;
    case MemorySpace::kLocal:
      return kLocalWindow;
    case MemorySpace::kParam:
      return kParamWindow;
    default:
      return 0;
  }
}

// .u32 or .u64, which ends the modifiers: the width of an address.
std::optional<Width> take_address_width(Decoding& at) {
  const std::optional<ScalarType> type = at.take_type();
  if (!type || !is_unsigned(*type) || bits_of(*type) < 32 || at.has_more()) return std::nullopt;
  return static_cast<Width>(bytes_of(*type));
}

}  // namespace

// cvta[.to].space.size d, a: the windows of shared, local and param are added or taken away.
void decode_address_conversion(Decoding& at) {
  const bool is_to = at.take("to");
  const std::optional<std::uint64_t> window = take_window(at);
  const std::optional<ScalarType> type = at.take_type();
  if (!window || !type || at.has_more() || bits_of(*type) != 64) return at.refuse();
  if (!at.has_operands(2)) return;
  const ValuePlace a = at.source(at.operands()[1], 8, *type);
  const ValuePlace d = at.result(at.operands()[0], 8);
  if (*window == 0) return at.emit_lanes("mov.b64", d, {a});
  at.emit_lanes(is_to ? "sub.u64" : "add.u64", d, {a, at.constant(8, *window)});
}

// isspacep.space p, a
void decode_space_test(Decoding& at) {
  const bool is_const = at.peek() == "const";  // has no window of its own
  const std::optional<std::uint64_t> window = take_window(at);
  if (!window || is_const || at.has_more()) return at.refuse();
  if (!at.has_operands(2)) return;
  const ValuePlace a = at.source(at.operands()[1], 8, ScalarType::kU64);
  const ValuePlace upper = at.emit_value("shr.u64", 8, {a, at.constant(4, kWindowShift)});
  at.emit_lanes("setp.eq.u64", at.result(at.operands()[0], kPredicateWidth),
                {upper, at.constant(8, *window >> kWindowShift)});
}

// mapa[.shared::cluster].type d, a, b: the rank and one is the upper byte of 32 bits.
void decode_mapped_address(Decoding& at) {
  at.skip({"shared::cluster"});
  const std::optional<Width> width = take_address_width(at);
  if (!width) return at.refuse();
  if (!at.has_operands(3)) return;
  const std::string suffix = std::to_string(8 * *width);
  const ValuePlace a = at.source(at.operands()[1], *width, ScalarType::kU64);
  const ValuePlace rank = at.source32(at.operands()[2]);
  const ValuePlace next = at.emit_value("add.u32", 4, {rank, at.constant(4, 1)});
  ValuePlace window = at.emit_value("shl.b32", 4, {next, at.constant(4, kRankShift)});
  if (*width == 8) window = at.emit_value("cvt.u64.u32", 8, {window});
  const ValuePlace plain =
      at.emit_value("and.b" + suffix, *width, {a, at.constant(*width, ~std::uint64_t{kRankMask})});
  at.emit_lanes("or.b" + suffix, at.result(at.operands()[0], *width), {plain, window});
}

// getctarank[.shared::cluster].type d, a
void decode_rank_of_address(Decoding& at) {
  at.skip({"shared::cluster"});
  const std::optional<Width> width = take_address_width(at);
  if (!width) return at.refuse();
  if (!at.has_operands(2)) return;
  ValuePlace address = at.source(at.operands()[1], *width, ScalarType::kU64);
  if (*width == 8) address = at.emit_value("cvt.u32.u64", 4, {address});
  const ValuePlace upper = at.emit_value("shr.u32", 4, {address, at.constant(4, kRankShift)});
  const ValuePlace is_own =
      at.emit_value("setp.eq.u32", kPredicateWidth, {upper, at.constant(4, 0)});
  const ValuePlace rank = at.emit_value("sub.u32", 4, {upper, at.constant(4, 1)});
  at.emit_lanes("selp.b32", at.result(at.operands()[0], 4),
                {at.special(SpecialValue::kClusterCtarank, 4), rank, is_own});
}

}  // namespace recto::ptx
