// Operands become values, and instructions steps.

#include <bit>
#include <set>

#include "verify/ptx/program/decoder.h"

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

}  // namespace

ValuePlace Decoder::add_value(Width width) {
  draft_.values.push_back({ValueKind::kVariable, width});
  return static_cast<ValuePlace>(draft_.values.size() - 1);
}

ValuePlace Decoder::constant(Width width, std::uint64_t bits) {
  if (width == kPredicateWidth) bits = bits != 0 ? kAllLanes : 0;
  if (width == 2) bits &= 0xffff;
  if (width == 4) bits &= 0xffffffff;
  const auto [found, is_new] =
      constants_.emplace(std::pair{width, bits}, static_cast<ValuePlace>(draft_.values.size()));
  if (is_new) draft_.values.push_back({ValueKind::kConstant, width, bits});
  return found->second;
}

ValuePlace Decoder::special(SpecialValue value, Width width) {
  const auto [found, is_new] =
      specials_.emplace(std::pair{value, width}, static_cast<ValuePlace>(draft_.values.size()));
  if (is_new) draft_.values.push_back({ValueKind::kSpecial, width, 0, value});
  return found->second;
}

Width Decoder::register_width(const Operand& operand) const {
  if (operand.kind != text::OperandKind::kRegister) return 0;
  return draft_.values[frame_->values[operand.index]].width;
}

ValuePlace Decoder::source(const Operand& operand, Width width, ScalarType type) {
  switch (operand.kind) {
    case text::OperandKind::kRegister: {
      const ValuePlace value = frame_->values[operand.index];
      if (operand.is_negated) return predicate(operand);
      if (draft_.values[value].width == width) return value;
      fail("register " + frame_->function->registers[operand.index].name + " has another width");
      return value;
    }
    case text::OperandKind::kInteger:
      return constant(width, operand.bits);
    case text::OperandKind::kFloat32:
      if (type == ScalarType::kF64) {
        const double wide = std::bit_cast<float>(static_cast<std::uint32_t>(operand.bits));
        return constant(width, std::bit_cast<std::uint64_t>(wide));
      }
      return constant(width, operand.bits);
    case text::OperandKind::kFloat64:
      if (type == ScalarType::kF32) {
        const auto narrow = static_cast<float>(std::bit_cast<double>(operand.bits));
        return constant(width, std::bit_cast<std::uint32_t>(narrow));
      }
      return constant(width, operand.bits);
    case text::OperandKind::kSpecial: {
      ValuePlace value = 0;
      if (special_register(operand, width, &value)) return value;
      fail("'" + operand.name + "' is no register that is known here");
      return constant(width, 0);
    }
    case text::OperandKind::kVariable:
    case text::OperandKind::kName:
      return address_constant(operand);
    default:
      fail("an operand of another kind was expected");
      return constant(width, 0);
  }
}

ValuePlace Decoder::predicate(const Operand& operand) {
  if (!operand.is_negated) return source(operand, kPredicateWidth, ScalarType::kPred);
  Operand plain = operand;
  plain.is_negated = false;
  const ValuePlace value = source(plain, kPredicateWidth, ScalarType::kPred);
  const ValuePlace negated = add_value(kPredicateWidth);
  if (draft_.values[value].width == kPredicateWidth) emit_lanes("not.pred", negated, {value});
  return negated;
}

ValuePlace Decoder::result(const Operand& operand, Width width) {
  if (operand.kind == text::OperandKind::kSink) return add_value(width);
  if (operand.kind != text::OperandKind::kRegister) {
    fail("the result must be a register");
    return add_value(width);
  }
  const ValuePlace value = frame_->values[operand.index];
  if (draft_.values[value].width != width) {
    fail("register " + frame_->function->registers[operand.index].name + " has another width");
  }
  return value;
}

ValuePlace Decoder::address_constant(const Operand& operand) {
  const auto at = [&](std::uint64_t address, Width width) {
    return constant(width, address + static_cast<std::uint64_t>(operand.offset));
  };
  const std::string& type = instruction_->modifiers.empty() ? "" : instruction_->modifiers.back();
  const std::optional<ScalarType> known = scalar_type(type);
  const Width width = known && bits_of(*known) == 32 ? 4 : 8;
  if (operand.kind == text::OperandKind::kVariable) {
    return at(frame_->variables[operand.index].address, width);
  }
  if (const auto found = shared_.find(operand.name); found != shared_.end()) {
    return at(found->second.address, width);
  }
  if (const auto found = symbols_.find(operand.name); found != symbols_.end()) {
    return at(found->second, 8);
  }
  fail("'" + operand.name + "' is not declared");
  return constant(8, 0);
}

bool Decoder::special_register(const Operand& operand, Width width, ValuePlace* value) {
  if (operand.name == "WARP_SZ") {
    *value = constant(width, kWarpSize);
    return true;
  }
  static const std::set<std::string_view> kClocks = {
      "%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo", "%globaltimer_hi"};
  if (kClocks.count(operand.name) != 0) {
    *value = add_value(width);
    Step& step = emit(Action::kClock);
    step.d = *value;
    step.d_width = width;
    step.defs = kFieldD;
    return true;
  }
  const auto found = special_names().find(operand.name);
  if (found == special_names().end()) return false;
  const bool is_predicate = found->second == SpecialValue::kIsExplicitCluster;
  if ((width == kPredicateWidth) != is_predicate) return false;
  *value = special(found->second, width);
  return true;
}

// --- steps ---------------------------------------------------------------------------------------

Step& Decoder::emit(Action action) {
  Program& program = draft_.program;
  Step step;
  step.action = action;
  step.guard = guard_;
  step.is_guard_negated = is_guard_negated_;
  const text::Place place = instruction_ != nullptr ? instruction_->place : text::Place{};
  const std::string text = instruction_ != nullptr ? instruction_->text() : "exit";
  if (program.places.empty() || program.places.back().ptx_line != place.ptx_line ||
      program.instructions.back() != text) {  // a line may have several instructions
    program.places.push_back(place);
    program.instructions.push_back(text);
  }
  step.place = static_cast<std::uint32_t>(program.places.size() - 1);
  program.steps.push_back(step);
  return program.steps.back();
}

Detail& Decoder::emit_detail(Action action) {
  Step& step = emit(action);
  step.detail = static_cast<std::uint32_t>(draft_.program.details.size());
  draft_.program.details.emplace_back();
  return draft_.program.details.back();
}

void Decoder::emit_lanes(std::string_view form, ValuePlace d,
                         std::initializer_list<ValuePlace> operands) {
  const LaneForm* found = find_lane_form(form);
  if (found == nullptr) {
    fail("form '" + std::string(form) + "' is missing");
    return;
  }
  Step& step = emit(Action::kLanes);
  if (const LaneFunction perturbed = find_perturbed_function(form); perturbed != nullptr) {
    const auto index = static_cast<std::uint32_t>(draft_.program.steps.size() - 1);
    draft_.program.approximations.push_back({index, perturbed});
  }
  step.lanes = found->function;
  step.d = d;
  step.d_width = found->d;
  step.defs = kFieldD;
  ValuePlace* const fields[] = {&step.a, &step.b, &step.c, &step.e};
  constexpr std::uint8_t kFields[] = {kFieldA, kFieldB, kFieldC, kFieldE};
  std::size_t next = 0;
  for (const ValuePlace operand : operands) {
    if (operand == kNoValue) continue;
    *fields[next] = operand;
    step.uses |= kFields[next++];
  }
}

}  // namespace recto::ptx
