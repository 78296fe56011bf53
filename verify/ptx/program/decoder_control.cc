// Branches and calls.

#include <algorithm>

#include "verify/ptx/program/decoder.h"

namespace recto::ptx {
namespace {

using text::OperandKind;

constexpr unsigned kCallDepthMax = 64;

}  // namespace

bool Decoder::decode_branch() {
  InstructionReader reader(*instruction_);
  const auto& operands = instruction_->operands;
  const bool is_table = instruction_->opcode == "brx";
  if (is_table && !reader.take("idx")) return refuse();
  reader.skip({"uni"});
  if (reader.has_more() || operands.size() != (is_table ? 2U : 1U)) return refuse();
  if (!is_table) {
    if (operands[0].kind != OperandKind::kLabel) {
      return fail("label '" + operands[0].name + "' is not defined");
    }
    emit(Action::kBranch);
    frame_->branches.emplace_back(draft_.program.steps.size() - 1, operands[0].index);
    return true;
  }
  if (operands[1].kind != OperandKind::kTable) return fail("expected a list of branch targets");
  const ValuePlace index = source(operands[0], 4, ScalarType::kU32);
  emit_detail(Action::kBranchTable);
  Step& step = draft_.program.steps.back();
  step.a = index;
  step.uses = kFieldA;
  for (const Operand& label : frame_->function->tables[operands[1].index].labels) {
    if (label.kind != OperandKind::kLabel) {
      return fail("label '" + label.name + "' is not defined");
    }
    frame_->tables.emplace_back(step.detail, label.index);
  }
  return status_.is_ok();
}

// call[.uni] (results), name, (arguments): the function's steps stand here.
bool Decoder::decode_call() {
  const auto& operands = instruction_->operands;
  std::size_t next = 0;
  const Operand* results = nullptr;
  const Operand* arguments = nullptr;
  if (next < operands.size() && operands[next].kind == OperandKind::kList) {
    results = &operands[next++];
  }
  if (next >= operands.size() || operands[next].kind != OperandKind::kName) {
    return fail("calls by address cannot be run");
  }
  const std::string& name = operands[next++].name;
  if (next < operands.size() && operands[next].kind == OperandKind::kList) {
    arguments = &operands[next++];
  }
  const auto found =
      std::find_if(module_.functions.begin(), module_.functions.end(),
                   [&](const text::Function& function) { return function.name == name; });
  if (found == module_.functions.end() || !found->is_defined) {
    return decode_system_call(name, arguments);
  }
  for (const Frame* frame = frame_; frame != nullptr; frame = frame->caller) {
    if (frame->function == &*found) return fail("'" + name + "' calls itself");
  }
  if (frame_->depth >= kCallDepthMax) return fail("calls nest too deeply");
  if (guard_ != kNoValue) return fail("calls with a guard cannot be run");
  Frame frame{&*found, frame_};
  frame.depth = frame_->depth + 1;
  const auto bind = [&](const Operand* list, std::uint32_t count) {
    if ((list != nullptr ? list->parts.size() : 0) != count) {
      return fail("'" + name + "' has other parameters");
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      if (list->parts[i].kind != OperandKind::kVariable) {
        return fail("expected variables of .param space");
      }
      frame.variables.push_back(frame_->variables[list->parts[i].index]);
    }
    return true;
  };
  if (!bind(results, found->num_results) || !bind(arguments, found->num_parameters)) return false;
  const Instruction* const call = instruction_;
  if (!decode_function(frame)) return false;
  instruction_ = call;
  guard_ = kNoValue;
  return true;
}

// Functions that the GPU's own system has.
bool Decoder::decode_system_call(const std::string& name, const Operand* arguments) {
  Detail detail;
  const bool is_print = name == "vprintf";
  if (!is_print && name != "__assertfail") return fail("'" + name + "' is not defined");
  if (arguments == nullptr || arguments->parts.size() < 2) return fail("arguments are missing");
  for (std::size_t i = 0; i < (is_print ? 2 : std::min<std::size_t>(3, arguments->parts.size()));
       ++i) {
    const Operand& part = arguments->parts[i];
    if (part.kind != OperandKind::kVariable) return fail("expected variables of .param space");
    // Arguments are in local memory; they are loaded into values first.
    const Location& location = frame_->variables[part.index];
    const auto width = static_cast<Width>(frame_->function->variables[part.index].bytes);
    if (width != 4 && width != 8) return fail("arguments have other types");
    Detail load;
    load.memory = {location.space, 8, kNoValue, static_cast<std::int64_t>(location.address)};
    load.element_bytes = load.width = width;
    load.defs = {add_value(width)};
    detail.uses.push_back(load.defs[0]);
    emit_detail(Action::kLoad) = std::move(load);
  }
  emit_detail(is_print ? Action::kPrint : Action::kAssert) = std::move(detail);
  return true;
}

}  // namespace recto::ptx
