// Loads, stores and atomic operations.

#include <algorithm>

#include "verify/ptx/program/families.h"

namespace recto::ptx {
namespace {

// Orderings and scopes. All scopes count as the whole GPU's.
Ordering take_ordering(Decoding& at, Ordering otherwise) {
  if (at.take("volatile")) otherwise = Ordering::kRelaxed;
  const auto ordering = at.take_one_of<Ordering>({{"weak", Ordering::kWeak},
                                                  {"relaxed", Ordering::kRelaxed},
                                                  {"acquire", Ordering::kAcquire},
                                                  {"release", Ordering::kRelease},
                                                  {"acq_rel", Ordering::kAcquireRelease}});
  at.skip({"cta", "cluster", "gpu", "sys"});
  return ordering.value_or(otherwise);
}

// One register, or a vector of `count`. Triton writes a vector of one register, too.
std::vector<Operand> registers_of(Decoding& at, const Operand& data, std::size_t count) {
  if (count == 1 && data.kind != OperandKind::kVector) return {data};
  if (data.kind != OperandKind::kVector || data.parts.size() != count) {
    at.fail("expected a vector of " + std::to_string(count));
    return {};
  }
  return data.parts;
}

// Registers may be wider than memory's elements.
Width common_width(Decoding& at, const std::vector<Operand>& registers, Width element_bytes) {
  Width common = 0;
  for (const Operand& reg : registers) {
    const Width width = at.register_width(reg);
    if (width == kPredicateWidth) at.fail("a predicate cannot be in memory");
    if (width != 0 && common != 0 && width != common) {
      at.fail("the registers of a vector differ in width");
    }
    if (width != 0) common = width;
  }
  if (common == 0) return std::max<Width>(2, element_bytes);
  if (common < element_bytes) at.fail("a register is too narrow");
  return common;
}

// An argument of the kernel is a constant of the launch.
void load_argument(Decoding& at, const Detail& detail, const std::vector<Operand>& registers) {
  std::int64_t offset = detail.memory.offset;
  for (const Operand& reg : registers) {
    if (offset < 0 || offset + detail.element_bytes > at.program().parameter_bytes) {
      return at.fail("reads beyond the parameters");
    }
    if (reg.kind != OperandKind::kSink) {
      const ValuePlace argument =
          at.add_argument({0, detail.width, static_cast<std::uint32_t>(offset),
                           detail.element_bytes, detail.is_signed});
      at.emit_lanes("mov.b" + std::to_string(8 * detail.width), at.result(reg, detail.width),
                    {argument});
    }
    offset += detail.element_bytes;
  }
}

}  // namespace

void decode_load_or_store(Decoding& at) {
  const bool is_load = at.opcode() != "st";
  Detail detail;
  detail.ordering = take_ordering(at, Ordering::kWeak);
  const MemorySpace space = at.take_space().value_or(MemorySpace::kGeneric);
  at.skip_hints();
  const auto count = at.take_one_of<std::size_t>({{"v2", 2}, {"v4", 4}, {"v8", 8}}).value_or(1);
  const std::optional<ScalarType> type = at.take_type();
  if (!type || at.has_more() || *type == ScalarType::kPred || bits_of(*type) > 64) {
    return at.refuse();
  }
  if (!at.has_operands(2)) return;
  detail.element_bytes = static_cast<std::uint8_t>(bytes_of(*type));
  detail.is_signed = is_signed(*type);
  detail.memory = at.memory(at.operands()[is_load ? 1 : 0], space);
  const std::vector<Operand> registers = registers_of(at, at.operands()[is_load ? 0 : 1], count);
  detail.width = common_width(at, registers, detail.element_bytes);
  const bool is_argument = detail.memory.space == MemorySpace::kParam &&
                           at.value(detail.memory.address).kind == ValueKind::kConstant;
  if (is_load && is_argument) return load_argument(at, detail, registers);
  for (const Operand& reg : registers) {
    if (is_load) {
      detail.defs.push_back(at.result(reg, detail.width));
    } else {
      detail.uses.push_back(at.source(reg, detail.width, *type));
    }
  }
  at.emit(is_load ? Action::kLoad : Action::kStore, std::move(detail));
}

// atom.op.type d, [a], b[, c] and red.op.type [a], b
void decode_atomic(Decoding& at) {
  using enum AtomicOperation;
  Detail detail;
  detail.ordering = take_ordering(at, Ordering::kRelaxed);
  const MemorySpace space = at.take_space().value_or(MemorySpace::kGeneric);
  at.skip({"cta", "cluster", "gpu", "sys"});
  const auto operation = at.take_one_of<AtomicOperation>({{"add", kAdd},
                                                          {"min", kMin},
                                                          {"max", kMax},
                                                          {"and", kAnd},
                                                          {"or", kOr},
                                                          {"xor", kXor},
                                                          {"exch", kExchange},
                                                          {"cas", kCompareAndSwap},
                                                          {"inc", kIncrement},
                                                          {"dec", kDecrement}});
  at.skip({"noftz"});
  at.skip_hints();
  const std::optional<ScalarType> type = at.take_type();
  if (!operation || !type || at.has_more()) return at.refuse();
  const bool is_small = bits_of(*type) < 16 || bits_of(*type) > 64;
  const bool is_logic = *operation == kAnd || *operation == kOr || *operation == kXor;
  if (is_small || (is_logic && is_float(*type)) || *type == ScalarType::kTf32) return at.refuse();
  detail.atomic = *operation;
  detail.type = *type;
  detail.element_bytes = detail.width = static_cast<Width>(bytes_of(*type));
  const std::size_t first = at.opcode() == "red" ? 0 : 1;
  const std::size_t sources = *operation == kCompareAndSwap ? 2 : 1;
  if (!at.has_operands(first + 1 + sources)) return;
  detail.memory = at.memory(at.operands()[first], space);
  for (std::size_t i = 0; i < sources; ++i) {
    detail.uses.push_back(at.source(at.operands()[first + 1 + i], detail.width, *type));
  }
  if (first != 0) detail.defs.push_back(at.result(at.operands()[0], detail.width));
  at.emit(Action::kAtomic, std::move(detail));
}

}  // namespace recto::ptx
