#include "verify/ptx/program/draft.h"

#include <algorithm>

namespace recto::ptx {
namespace {

// The bits of Step::halves for one operand: which halves of the result depend on which of its own.
enum Halves : std::uint16_t {
  kLowerOfLower = 0b0001,
  kSame = 0b1001,         // each half on the same half
  kLowerOfBoth = 0b0011,  // the lower half of the result, on both
  kUpperOfBoth = 0b1100,  // the upper half of the result, on both
  kBothOfLower = 0b0101,  // all of the result, on the lower half
  kBothOfUpper = 0b1010,  // all of the result, on the upper half
  kAll = 0b1111,
};
constexpr std::uint16_t for_operands(unsigned a, unsigned b, unsigned c, unsigned e) {
  return static_cast<std::uint16_t>(a | b << 4 | c << 8 | e << 12);
}

// prmt: each byte of the result is a byte of a (0 to 3) or of b (4 to 7).
std::uint16_t permuted_halves(std::uint64_t selectors) {
  unsigned halves = 0;
  for (unsigned byte = 0; byte < 4; ++byte) {
    const auto from = static_cast<unsigned>(selectors >> 4 * byte & 7);
    halves |= 1U << (4 * (from / 4) + 2 * (byte / 2) + from % 4 / 2);
  }
  return static_cast<std::uint16_t>(halves);
}

// What is not known to be less is all. `operands` are null beyond the last.
std::uint16_t halves_of(const LaneForm& form, const Value* const (&operands)[4]) {
  const std::string_view name = form.form;
  const auto is_constant = [](const Value* value) {
    return value != nullptr && value->kind == ValueKind::kConstant;
  };
  if (name.starts_with("pack4.")) {
    return for_operands(kLowerOfBoth, kLowerOfBoth, kUpperOfBoth, kUpperOfBoth);
  }
  if (name.starts_with("pack.")) return for_operands(kLowerOfBoth, kUpperOfBoth, 0, 0);
  if (name.starts_with("extract.")) {  // shifts by a constant
    return operands[1]->bits < 4U * form.a ? kBothOfLower : kBothOfUpper;
  }
  if (name.starts_with("prmt.b32") && name.size() == 8 && is_constant(operands[2])) {
    return permuted_halves(operands[2]->bits);
  }
  if (name.starts_with("cvt.")) {
    if (form.b != 0) return for_operands(kUpperOfBoth, kLowerOfBoth, 0, 0);  // two to a vector
    if (name.ends_with("x2")) return kSame;                                  // a vector to a vector
    const bool moves_bits = name.starts_with("cvt.u") && name.find(".u", 4) != name.npos;
    if (!moves_bits) return kAll;
    if (name.find(".u8") != name.npos) return kLowerOfLower;  // 8 bits, held in 16
    return form.d < form.a ? kBothOfLower : form.d > form.a ? kLowerOfBoth : kSame;
  }
  if (name.starts_with("selp.")) return for_operands(kSame, kSame, kAll, 0);
  if (name.starts_with("xor.") && operands[0] == operands[1]) return 0;
  const bool is_and = name.starts_with("and.");
  if (!is_and && !name.starts_with("or.") && !name.starts_with("xor.") &&
      !name.starts_with("not.") && !name.starts_with("mov.") && !name.ends_with("x2")) {
    return for_operands(kAll, kAll, kAll, kAll);
  }
  std::uint16_t halves = for_operands(kSame, kSame, kSame, 0);
  for (unsigned i = 0; i < 2 && is_and; ++i) {  // zeros hide the other operand
    if (!is_constant(operands[i])) continue;
    const unsigned bits = 4U * form.a;
    if (operands[i]->bits >> bits == 0) halves &= ~(kUpperOfBoth << 4 * (1 - i));
    if (operands[i]->bits << (64 - bits) == 0) halves &= ~(kLowerOfBoth << 4 * (1 - i));
  }
  return halves;
}

}  // namespace

ValuePlace DraftBuilder::add_value(Width width) {
  draft_.values.push_back({ValueKind::kVariable, width});
  return static_cast<ValuePlace>(draft_.values.size() - 1);
}

ValuePlace DraftBuilder::add_temporary(Width width) {
  const ValuePlace added = add_value(width);
  draft_.values[added].is_temporary = true;
  return added;
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
  const Value* values[4] = {};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (given[i] != kNoValue) values[i] = &draft_.values[given[i]];
  }
  step.halves = halves_of(*found, values);
  step.e = given[3];
  if (step.e != kNoValue) step.uses |= kFieldE;
  if (const LaneFunction perturbed = find_perturbed_function(form); perturbed != nullptr) {
    draft_.program.approximations.push_back({num_steps() - 1, perturbed});
  }
  return true;
}

}  // namespace recto::ptx
