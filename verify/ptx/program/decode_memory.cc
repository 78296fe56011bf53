// Loads, stores and atomic operations.

#include <algorithm>

#include "verify/ptx/program/families.h"

namespace recto::ptx {
namespace {

// The modifiers of an access, which compilers write in several orders.
struct AccessModifiers {
  std::optional<Ordering> ordering = {};
  std::optional<bool> is_of_block = {};  // its scope
  std::optional<MemorySpace> space = {};
  std::optional<AtomicOperation> operation = {};
  std::optional<bool> is_noftz = {};
  std::optional<std::size_t> count = {};  // of a vector
  std::optional<ScalarType> type = {};
};

// Takes all that there are, and leaves the first that is no modifier of an access.
AccessModifiers take_modifiers(Decoding& at) {
  using enum AtomicOperation;
  AccessModifiers taken;
  const auto set = [&](auto& field, const auto& found) {
    if (found && field) at.refuse();
    if (found) field = found;
    return found.has_value();
  };
  do {
    at.skip_hints();
  } while (
      set(taken.ordering, at.take_one_of<Ordering>({{"volatile", Ordering::kRelaxed},
                                                    {"weak", Ordering::kWeak},
                                                    {"relaxed", Ordering::kRelaxed},
                                                    {"acquire", Ordering::kAcquire},
                                                    {"release", Ordering::kRelease},
                                                    {"acq_rel", Ordering::kAcquireRelease}})) ||
      set(taken.is_of_block,
          at.take_one_of<bool>(
              {{"cta", true}, {"cluster", false}, {"gpu", false}, {"sys", false}})) ||
      set(taken.space, at.take_space()) ||
      ((at.opcode() == "atom" || at.opcode() == "red") &&
       set(taken.operation, at.take_one_of<AtomicOperation>({{"add", kAdd},
                                                             {"min", kMin},
                                                             {"max", kMax},
                                                             {"and", kAnd},
                                                             {"or", kOr},
                                                             {"xor", kXor},
                                                             {"exch", kExchange},
                                                             {"cas", kCompareAndSwap},
                                                             {"inc", kIncrement},
                                                             {"dec", kDecrement}}))) ||
      set(taken.is_noftz, at.take_one_of<bool>({{"noftz", true}})) ||
      set(taken.count, at.take_one_of<std::size_t>({{"v2", 2}, {"v4", 4}, {"v8", 8}})) ||
      set(taken.type, at.take_type()));
  return taken;
}

// PTX ISA, "Parallel Synchronization and Communication Instructions: atom".
bool has_operation(ScalarType type, AtomicOperation operation, bool is_vector) {
  using enum AtomicOperation;
  using enum ScalarType;
  const auto is_one_of = [&](std::initializer_list<ScalarType> types) {
    return std::find(types.begin(), types.end(), type) != types.end();
  };
  const bool is_narrow = is_one_of({kF16, kBf16, kF16x2, kBf16x2});
  switch (operation) {
    case kAdd:
      return is_narrow || type == kF32 || (!is_vector && is_one_of({kU32, kS32, kU64, kF64}));
    case kMin:
    case kMax:
      return is_vector ? is_narrow : is_one_of({kU32, kS32, kU64, kS64});
    case kIncrement:
    case kDecrement:
      return !is_vector && type == kU32;
    case kCompareAndSwap:
      return !is_vector && is_one_of({kB16, kB32, kB64});
    default:
      return !is_vector && is_one_of({kB32, kB64});
  }
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
  const AccessModifiers is = take_modifiers(at);
  const std::optional<ScalarType>& type = is.type;
  if (!type || is.is_noftz || at.has_more() || *type == ScalarType::kPred || bits_of(*type) > 64) {
    return at.refuse();
  }
  if (!at.has_operands(2)) return;
  Detail detail;
  detail.ordering = is.ordering.value_or(Ordering::kWeak);
  detail.is_of_block = is.is_of_block.value_or(false);
  detail.element_bytes = static_cast<std::uint8_t>(bytes_of(*type));
  detail.is_signed = is_signed(*type);
  detail.memory =
      at.memory(at.operands()[is_load ? 1 : 0], is.space.value_or(MemorySpace::kGeneric));
  const std::vector<Operand> registers =
      registers_of(at, at.operands()[is_load ? 0 : 1], is.count.value_or(1));
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

// atom.op.type d, [a], b[, c] and red.op.type [a], b; d and b may be vectors.
void decode_atomic(Decoding& at) {
  const AccessModifiers is = take_modifiers(at);
  const bool returns = at.opcode() == "atom";
  if (!is.operation || !is.type || at.has_more() ||
      !has_operation(*is.type, *is.operation, is.count.has_value())) {
    return at.refuse();
  }
  // A vector is in global memory, and has at most 16 bytes.
  const bool is_elsewhere = is.space.value_or(MemorySpace::kGlobal) != MemorySpace::kGlobal;
  if (is.count && (is_elsewhere || *is.count * bytes_of(*is.type) > 16)) return at.refuse();
  if (is.ordering == Ordering::kWeak) return at.refuse();
  // Types of 16 bits, and pairs of them, must say that they keep subnormals; others must not.
  const bool is_narrow =
      is_float(*is.type) && *is.type != ScalarType::kF32 && *is.type != ScalarType::kF64;
  const bool is_swap = *is.operation == AtomicOperation::kCompareAndSwap;
  if (is.is_noftz.value_or(false) != is_narrow ||
      (!returns && (is_swap || *is.operation == AtomicOperation::kExchange))) {
    return at.refuse();
  }
  Detail detail;
  detail.ordering = is.ordering.value_or(Ordering::kRelaxed);
  detail.is_of_block = is.is_of_block.value_or(false);
  detail.atomic = *is.operation;
  detail.type = *is.type;
  detail.element_bytes = detail.width = static_cast<Width>(bytes_of(*is.type));
  const std::size_t first = returns ? 1 : 0;
  if (!at.has_operands(first + (is_swap ? 3 : 2))) return;
  const std::size_t count = is.count.value_or(1);
  detail.memory = at.memory(at.operands()[first], is.space.value_or(MemorySpace::kGeneric));
  for (std::size_t i = first + 1; i < first + (is_swap ? 3 : 2); ++i) {
    for (const Operand& reg : registers_of(at, at.operands()[i], count)) {
      detail.uses.push_back(at.source(reg, detail.width, *is.type));
    }
  }
  for (std::size_t i = 0; i < first; ++i) {
    for (const Operand& reg : registers_of(at, at.operands()[i], count)) {
      detail.defs.push_back(at.result(reg, detail.width));
    }
  }
  at.emit(Action::kAtomic, std::move(detail));
}

}  // namespace recto::ptx
