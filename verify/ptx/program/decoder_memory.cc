// Instructions that touch memory, and matrix products.

#include "verify/ptx/program/decoder.h"

namespace recto::ptx {
namespace {

using text::OperandKind;

}  // namespace

bool Decoder::read_memory_operand(const Operand& operand, MemorySpace space,
                                  MemoryOperand* memory) {
  if (operand.kind != OperandKind::kAddress || operand.parts.size() != 1) {
    return fail("expected an address in brackets");
  }
  const Operand& base = operand.parts[0];
  memory->space = space;
  memory->offset = operand.offset;
  switch (base.kind) {
    case OperandKind::kRegister: {
      const Width width = register_width(base);
      if (width != 4 && width != 8) return fail("the address is no register of 32 or 64 bits");
      memory->address = frame_->values[base.index];
      memory->address_width = width;
      if (space == MemorySpace::kParam && frame_->caller != nullptr) {
        memory->space = MemorySpace::kLocal;
      }
      return true;
    }
    case OperandKind::kInteger:
      memory->offset += static_cast<std::int64_t>(base.bits);
      return true;
    case OperandKind::kVariable: {
      const Location& location = frame_->variables[base.index];
      if (space != MemorySpace::kSharedCluster) memory->space = location.space;
      memory->offset += static_cast<std::int64_t>(location.address);
      return true;
    }
    case OperandKind::kName: {
      if (const auto found = shared_.find(base.name); found != shared_.end()) {
        if (space != MemorySpace::kSharedCluster) memory->space = MemorySpace::kShared;
        memory->offset += static_cast<std::int64_t>(found->second.address);
        return true;
      }
      if (const auto found = symbols_.find(base.name); found != symbols_.end()) {
        memory->space = MemorySpace::kGlobal;
        memory->offset += static_cast<std::int64_t>(found->second);
        return true;
      }
      return fail("'" + base.name + "' is not declared");
    }
    default:
      return fail("this address cannot be run");
  }
}

// Orderings and scopes. All scopes count as the whole GPU's.
bool Decoder::read_ordering(InstructionReader& reader, Detail* detail) {
  if (reader.take("volatile")) detail->ordering = Ordering::kRelaxed;
  const auto ordering = reader.take_one_of<Ordering>({{"weak", Ordering::kWeak},
                                                      {"relaxed", Ordering::kRelaxed},
                                                      {"acquire", Ordering::kAcquire},
                                                      {"release", Ordering::kRelease},
                                                      {"acq_rel", Ordering::kAcquireRelease}});
  if (ordering) detail->ordering = *ordering;
  reader.skip({"cta", "cluster", "gpu", "sys"});
  return true;
}

bool Decoder::decode_load_or_store() {
  InstructionReader reader(*instruction_);
  const bool is_load = instruction_->opcode != "st";
  Detail detail;
  read_ordering(reader, &detail);
  const MemorySpace space = reader.take_space().value_or(MemorySpace::kGeneric);
  reader.skip_hints();
  const unsigned count =
      reader.take_one_of<unsigned>({{"v2", 2}, {"v4", 4}, {"v8", 8}}).value_or(1);
  const std::optional<ScalarType> type = reader.take_type();
  if (!type || reader.has_more() || *type == ScalarType::kPred || bits_of(*type) > 64) {
    return refuse();
  }
  const auto& operands = instruction_->operands;
  if (operands.size() != 2) return fail("expected 2 operands");
  detail.element_bytes = static_cast<std::uint8_t>(bytes_of(*type));
  detail.is_signed = is_signed(*type);
  detail.type = *type;
  if (!read_memory_operand(operands[is_load ? 1 : 0], space, &detail.memory)) return false;
  const Operand& data = operands[is_load ? 0 : 1];
  std::vector<const Operand*> registers;
  // Triton writes a vector of one register, too.
  if (count == 1 && data.kind != OperandKind::kVector) {
    registers.push_back(&data);
  } else {
    if (data.kind != OperandKind::kVector || data.parts.size() != count) {
      return fail("expected a vector of " + std::to_string(count));
    }
    for (const Operand& part : data.parts) registers.push_back(&part);
  }
  // Registers may be wider than memory's elements.
  for (const Operand* reg : registers) {
    const Width width = register_width(*reg);
    if (width == kPredicateWidth) return fail("a predicate cannot be in memory");
    if (width != 0 && detail.width != 0 && width != detail.width) {
      return fail("the registers of a vector differ in width");
    }
    if (width != 0) detail.width = width;
  }
  if (detail.width == 0) detail.width = std::max<Width>(2, detail.element_bytes);
  if (detail.width < detail.element_bytes) return fail("a register is too narrow");
  if (is_load && detail.memory.space == MemorySpace::kParam && detail.memory.address == kNoValue) {
    return load_argument(detail, registers);
  }
  for (const Operand* reg : registers) {
    (is_load ? detail.defs : detail.uses)
        .push_back(is_load ? result(*reg, detail.width) : source(*reg, detail.width, *type));
  }
  if (!status_.is_ok()) return false;
  emit_detail(is_load ? Action::kLoad : Action::kStore) = std::move(detail);
  return true;
}

// An argument of the kernel is a constant of the launch.
bool Decoder::load_argument(const Detail& detail, const std::vector<const Operand*>& registers) {
  for (std::size_t i = 0; i < registers.size(); ++i) {
    const std::int64_t offset =
        detail.memory.offset + static_cast<std::int64_t>(i) * detail.element_bytes;
    if (offset < 0 || offset + detail.element_bytes > draft_.program.parameter_bytes) {
      return fail("reads beyond the parameters");
    }
    if (registers[i]->kind == OperandKind::kSink) continue;
    Value value{ValueKind::kArgument, detail.width};
    value.argument = {0, detail.width, static_cast<std::uint32_t>(offset), detail.element_bytes,
                      detail.is_signed};
    draft_.values.push_back(value);
    const auto argument = static_cast<ValuePlace>(draft_.values.size() - 1);
    const ValuePlace d = result(*registers[i], detail.width);
    if (!status_.is_ok()) return false;
    emit_lanes("mov.b" + std::to_string(8 * detail.width), d, {argument});
  }
  return status_.is_ok();
}

bool Decoder::decode_atomic() {
  using enum AtomicOperation;
  InstructionReader reader(*instruction_);
  const bool is_reduction = instruction_->opcode == "red";
  Detail detail;
  detail.ordering = Ordering::kRelaxed;
  read_ordering(reader, &detail);
  MemorySpace space = reader.take_space().value_or(MemorySpace::kGeneric);
  reader.skip({"cta", "cluster", "gpu", "sys"});
  const auto operation = reader.take_one_of<AtomicOperation>({{"add", kAdd},
                                                              {"min", kMin},
                                                              {"max", kMax},
                                                              {"and", kAnd},
                                                              {"or", kOr},
                                                              {"xor", kXor},
                                                              {"exch", kExchange},
                                                              {"cas", kCompareAndSwap},
                                                              {"inc", kIncrement},
                                                              {"dec", kDecrement}});
  reader.skip({"noftz"});
  reader.skip_hints();
  const std::optional<ScalarType> type = reader.take_type();
  if (!operation || !type || reader.has_more()) return refuse();
  const bool is_small = bits_of(*type) < 16 || bits_of(*type) > 64;
  const bool is_logic = *operation == kAnd || *operation == kOr || *operation == kXor;
  if (is_small || (is_logic && is_float(*type)) || *type == ScalarType::kTf32) return refuse();
  detail.atomic = *operation;
  detail.type = *type;
  detail.element_bytes = detail.width = static_cast<Width>(bytes_of(*type));
  const auto& operands = instruction_->operands;
  const std::size_t sources = *operation == kCompareAndSwap ? 2 : 1;
  const std::size_t first = is_reduction ? 0 : 1;
  if (operands.size() != first + 1 + sources) return fail("operands are missing");
  if (!read_memory_operand(operands[first], space, &detail.memory)) return false;
  for (std::size_t i = 0; i < sources; ++i) {
    detail.uses.push_back(source(operands[first + 1 + i], detail.width, *type));
  }
  if (!is_reduction) detail.defs.push_back(result(operands[0], detail.width));
  if (!status_.is_ok()) return false;
  emit_detail(Action::kAtomic) = std::move(detail);
  return true;
}

}  // namespace recto::ptx
