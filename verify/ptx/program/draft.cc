#include "verify/ptx/program/draft.h"

#include <algorithm>

namespace recto::ptx {

ValuePlace DraftBuilder::add_value(Width width) {
  draft_.values.push_back({ValueKind::kVariable, width});
  return static_cast<ValuePlace>(draft_.values.size() - 1);
}

ValuePlace DraftBuilder::add_argument(const ArgumentRow& argument) {
  const ValuePlace added = add_value(argument.width);
  draft_.values[added].kind = ValueKind::kArgument;
  draft_.values[added].argument = argument;
  return added;
}

ValuePlace DraftBuilder::constant(Width width, std::uint64_t bits) {
  if (width == kPredicateWidth) bits = bits != 0 ? kAllLanes : 0;
  if (width == 2) bits &= 0xffff;
  if (width == 4) bits &= 0xffffffff;
  const auto [found, is_new] =
      constants_.emplace(std::pair{width, bits}, static_cast<ValuePlace>(draft_.values.size()));
  if (is_new) draft_.values.push_back({ValueKind::kConstant, width, bits});
  return found->second;
}

ValuePlace DraftBuilder::special(SpecialValue value, Width width) {
  const auto [found, is_new] =
      specials_.emplace(std::pair{value, width}, static_cast<ValuePlace>(draft_.values.size()));
  if (is_new) draft_.values.push_back({ValueKind::kSpecial, width, 0, value});
  return found->second;
}

void DraftBuilder::begin_instruction(const text::Place& place, std::string text,
                                     const Guard& guard) {
  place_ = place;
  text_ = std::move(text);
  guard_ = guard;
}

Step& DraftBuilder::emit(Action action, const Fields& fields) {
  Program& program = draft_.program;
  if (program.places.empty() || program.places.back().ptx_line != place_.ptx_line ||
      program.instructions.back() != text_) {  // a line may have several instructions
    program.places.push_back(place_);
    program.instructions.push_back(text_);
  }
  Step step;
  step.action = action;
  step.guard = guard_.predicate;
  step.is_guard_negated = guard_.is_negated;
  step.place = static_cast<std::uint32_t>(program.places.size() - 1);
  step.d = fields.d;
  step.d_width = fields.d_width;
  step.e = fields.e;
  step.a = fields.a;
  step.b = fields.b;
  step.c = fields.c;
  step.defs = static_cast<std::uint8_t>((fields.d != kNoValue ? kFieldD : 0) |
                                        (fields.e != kNoValue ? kFieldE : 0));
  step.uses = static_cast<std::uint8_t>((fields.a != kNoValue ? kFieldA : 0) |
                                        (fields.b != kNoValue ? kFieldB : 0) |
                                        (fields.c != kNoValue ? kFieldC : 0));
  program.steps.push_back(step);
  return program.steps.back();
}

Step& DraftBuilder::emit(Action action, Detail detail, const Fields& fields) {
  Step& step = emit(action, fields);
  step.detail = static_cast<std::uint32_t>(draft_.program.details.size());
  draft_.program.details.push_back(std::move(detail));
  return step;
}

bool DraftBuilder::emit_form(std::string_view form, ValuePlace d,
                             std::initializer_list<ValuePlace> operands) {
  const LaneForm* const found = find_lane_form(form);
  if (found == nullptr) return false;
  ValuePlace given[4] = {kNoValue, kNoValue, kNoValue, kNoValue};
  std::copy(operands.begin(), operands.end(), given);
  Step& step = emit(Action::kLanes,
                    {.d = d, .d_width = found->d, .a = given[0], .b = given[1], .c = given[2]});
  step.lanes = found->function;
  step.e = given[3];
  if (step.e != kNoValue) step.uses |= kFieldE;
  if (const LaneFunction perturbed = find_perturbed_function(form); perturbed != nullptr) {
    draft_.program.approximations.push_back({num_steps() - 1, perturbed});
  }
  return true;
}

}  // namespace recto::ptx
