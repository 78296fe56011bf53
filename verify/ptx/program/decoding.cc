#include "verify/ptx/program/decoding.h"

#include <algorithm>
#include <bit>
#include <set>

namespace recto::ptx {
namespace {

const std::unordered_map<std::string_view, SpecialValue>& special_names() {
  using enum SpecialValue;
  static const std::unordered_map<std::string_view, SpecialValue> kNames = {
      {"%tid.x", kTidX},
      {"%tid.y", kTidY},
      {"%tid.z", kTidZ},
      {"%ntid.x", kNtidX},
      {"%ntid.y", kNtidY},
      {"%ntid.z", kNtidZ},
      {"%ctaid.x", kCtaidX},
      {"%ctaid.y", kCtaidY},
      {"%ctaid.z", kCtaidZ},
      {"%nctaid.x", kNctaidX},
      {"%nctaid.y", kNctaidY},
      {"%nctaid.z", kNctaidZ},
      {"%laneid", kLaneId},
      {"%warpid", kWarpId},
      {"%nwarpid", kNumWarps},
      {"%smid", kSmId},
      {"%nsmid", kNumSm},
      {"%gridid", kGridId},
      {"%lanemask_eq", kLaneMaskEq},
      {"%lanemask_le", kLaneMaskLe},
      {"%lanemask_lt", kLaneMaskLt},
      {"%lanemask_ge", kLaneMaskGe},
      {"%lanemask_gt", kLaneMaskGt},
      {"%dynamic_smem_size", kDynamicSharedBytes},
      {"%total_smem_size", kTotalSharedBytes},
      {"%envreg1", kGridWorkspaceHigh},
      {"%envreg2", kGridWorkspaceLow},
      {"%cluster_ctaid.x", kClusterCtaidX},
      {"%cluster_ctaid.y", kClusterCtaidY},
      {"%cluster_ctaid.z", kClusterCtaidZ},
      {"%cluster_nctaid.x", kClusterNctaidX},
      {"%cluster_nctaid.y", kClusterNctaidY},
      {"%cluster_nctaid.z", kClusterNctaidZ},
      {"%cluster_ctarank", kClusterCtarank},
      {"%cluster_nctarank", kClusterNctarank},
      {"%clusterid.x", kClusteridX},
      {"%clusterid.y", kClusteridY},
      {"%clusterid.z", kClusteridZ},
      {"%nclusterid.x", kNclusteridX},
      {"%nclusterid.y", kNclusteridY},
      {"%nclusterid.z", kNclusteridZ},
      {"%is_explicit_cluster", kIsExplicitCluster}};
  return kNames;
}

// Constants of other types than the instruction's.
std::uint64_t float_bits(const Operand& operand, ScalarType type) {
  if (operand.kind == OperandKind::kFloat32 && type == ScalarType::kF64) {
    const double wide = std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits));
    return std::bit_cast<std::uint64_t>(wide);
  }
  if (operand.kind == OperandKind::kFloat64 && type == ScalarType::kF32) {
    return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(operand.bits)));
  }
  return operand.bits;
}

}  // namespace

void Decoding::begin(const text::Instruction& instruction) {
  instruction_ = &instruction;
  read(instruction);
  Guard guard;
  if (instruction.guard) {
    guard = {frame_->values[instruction.guard->reg], instruction.guard->is_negated};
  }
  begin_instruction(instruction.place, instruction.text(), guard);
}

bool Decoding::has_modifier(std::string_view modifier) const {
  const std::vector<std::string>& modifiers = instruction_->modifiers;
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

void Decoding::fail(const std::string& message) {
  if (!status_.is_ok()) return;
  const bool is_instruction = instruction_ != nullptr;
  const std::uint32_t line = is_instruction ? instruction_->place.ptx_line : frame_->function->line;
  status_ = Status::invalid_input("line " + std::to_string(line) + ": " +
                                  (is_instruction ? instruction_->text() + ": " : "") + message);
}

void Decoding::check(const Status& status) {
  if (!status.is_ok()) fail(status.message());
}

bool Decoding::has_operands(std::size_t count) {
  if (has_modifier("L2::cache_hint")) {
    ++count;
    if (operands().size() == count) source(operands().back(), 8, ScalarType::kB64);
  }
  if (operands().size() == count) return true;
  fail("expected " + std::to_string(count) + (count == 1 ? " operand" : " operands"));
  return false;
}

// --- operands ------------------------------------------------------------------------------------

Width Decoding::register_width(const Operand& operand) const {
  return operand.kind == OperandKind::kRegister ? value(frame_->values[operand.index]).width
                                                : Width{0};
}

ValuePlace Decoding::source(const Operand& operand, Width width, ScalarType type) {
  switch (operand.kind) {
    case OperandKind::kRegister: {
      const ValuePlace value = frame_->values[operand.index];
      if (operand.is_negated) return predicate(operand);
      if (register_width(operand) != width) {
        fail("register " + frame_->function->registers[operand.index].name + " has another width");
      }
      return value;
    }
    case OperandKind::kInteger:
    case OperandKind::kFloat32:
    case OperandKind::kFloat64:
      return constant(width, float_bits(operand, type));
    case OperandKind::kSpecial:
      return special_register(operand, width);
    case OperandKind::kVariable:
    case OperandKind::kName:
      return constant(width,
                      location(operand).address + static_cast<std::uint64_t>(operand.offset));
    default:
      fail("an operand of another kind was expected");
      return constant(width, 0);
  }
}

ValuePlace Decoding::predicate(const Operand& operand) {
  Operand plain = operand;
  plain.is_negated = false;
  const ValuePlace value = source(plain, kPredicateWidth, ScalarType::kPred);
  return operand.is_negated ? emit_value("not.pred", kPredicateWidth, {value}) : value;
}

ValuePlace Decoding::result(const Operand& operand, Width width) {
  if (operand.kind == OperandKind::kSink) return add_temporary(width);
  if (operand.kind != OperandKind::kRegister) {
    fail("the result must be a register");
    return add_temporary(width);
  }
  if (register_width(operand) != width) {
    fail("register " + frame_->function->registers[operand.index].name + " has another width");
  }
  return frame_->values[operand.index];
}

Fields Decoding::results(const Operand& operand) {
  if (operand.kind != OperandKind::kPair) return {.d = result(operand, 4), .d_width = 4};
  const ValuePlace d = result(operand.parts[0], 4);
  return {.d = d, .d_width = 4, .e = result(operand.parts[1], kPredicateWidth)};
}

// Where a variable of the function or of the module is.
Location Decoding::location(const Operand& operand) {
  if (operand.kind == OperandKind::kVariable) return frame_->variables[operand.index];
  const std::optional<Location> found = variables_.find(operand.name);
  if (!found) fail("'" + operand.name + "' is not declared");
  return found.value_or(Location{});
}

MemoryOperand Decoding::memory(const Operand& operand, MemorySpace space) {
  if (operand.kind != OperandKind::kAddress || operand.parts.size() != 1) {
    fail("expected an address in brackets");
    return {space, 8, constant(8, 0), 0};
  }
  const Operand& base = operand.parts[0];
  if (const Width width = register_width(base); width != 0) {
    if (width != 4 && width != 8) fail("the address is no register of 32 or 64 bits");
    const bool is_local = space == MemorySpace::kParam && frame_->caller != nullptr;
    return {is_local ? MemorySpace::kLocal : space, width, frame_->values[base.index],
            operand.offset};
  }
  // Constant addresses are offsets to zero.
  MemoryOperand memory{space, 8, constant(8, 0), operand.offset};
  if (base.kind == OperandKind::kInteger) {
    memory.offset += static_cast<std::int64_t>(base.bits);
  } else if (base.kind == OperandKind::kVariable || base.kind == OperandKind::kName) {
    const Location found = location(base);
    if (space != MemorySpace::kSharedCluster) memory.space = found.space;
    memory.offset += static_cast<std::int64_t>(found.address);
  } else {
    fail("this address cannot be run");
  }
  return memory;
}

ValuePlace Decoding::special_register(const Operand& operand, Width width) {
  static const std::set<std::string_view> kClocks = {
      "%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"};
  if (operand.name == "WARP_SZ") return constant(width, kWarpSize);
  if (kClocks.count(operand.name) != 0) {
    const ValuePlace now = add_temporary(width);
    emit(Action::kClock, {.d = now, .d_width = width});
    return now;
  }
  const auto found = special_names().find(operand.name);
  const bool is_predicate =
      found != special_names().end() && found->second == SpecialValue::kIsExplicitCluster;
  if (found == special_names().end() || (width == kPredicateWidth) != is_predicate) {
    fail("'" + operand.name + "' is no register that is known here");
    return constant(width, 0);
  }
  return special(found->second, width);
}

// --- steps ---------------------------------------------------------------------------------------

void Decoding::emit_lanes(std::string_view form, ValuePlace d,
                          std::initializer_list<ValuePlace> operands) {
  if (!emit_form(form, d, operands)) fail("form '" + std::string(form) + "' is missing");
}

ValuePlace Decoding::emit_value(std::string_view form, Width width,
                                std::initializer_list<ValuePlace> operands) {
  const ValuePlace d = add_temporary(width);
  emit_lanes(form, d, operands);
  return d;
}

}  // namespace recto::ptx
