// Instructions that compute each lane by itself, with operands of other widths, pairs, predicates
// and carries.

#include <algorithm>

#include "verify/ptx/program/families.h"

namespace recto::ptx {
namespace {

std::string sized(std::string_view opcode, unsigned bits) {
  return std::string(opcode) + ".b" + std::to_string(bits);
}

std::string conversion(char sign, Width to, Width from) {
  return std::string("cvt.") + sign + std::to_string(8 * to) + "." + sign +
         std::to_string(8 * from);
}

// The table leaves out .rn, and has moves and selections by size only.
const LaneForm* find_form(const std::string& form, std::string_view opcode) {
  if (const LaneForm* found = find_lane_form(form)) return found;
  if (opcode != "mov" && opcode != "selp") return nullptr;
  const std::optional<ScalarType> type = scalar_type(form.substr(opcode.size() + 1));
  return type ? find_lane_form(sized(opcode, bits_of(*type))) : nullptr;
}

// One result, and as many operands as the form has.
void emit_plain(Decoding& at, const std::string& form) {
  const LaneForm* const found = find_form(form, at.opcode());
  if (found == nullptr) return at.refuse();
  const Width widths[] = {found->a, found->b, found->c, found->e};
  const auto count = static_cast<std::size_t>(
      std::find(std::begin(widths), std::end(widths), Width{0}) - std::begin(widths));
  if (!at.has_operands(count + 1)) return;
  ScalarType type = ScalarType::kB32;
  for (const std::string& modifier : at.instruction().modifiers) {
    type = scalar_type(modifier).value_or(type);
  }
  ValuePlace values[4] = {kNoValue, kNoValue, kNoValue, kNoValue};
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = at.source(at.operands()[i + 1], widths[i], type);
  }
  at.emit_lanes(found->form, at.result(at.operands()[0], found->d),
                {values[0], values[1], values[2], values[3]});
}

// A vector in one register, and a register as a vector.
struct Packing {
  Width whole = 0;
  Width part = 0;
};
std::optional<Packing> packing_of(ScalarType type, std::size_t parts) {
  const auto whole = static_cast<Width>(bytes_of(type));
  if (parts == 0 || parts > 4 || whole % parts != 0 || whole / parts < 2) return std::nullopt;
  return Packing{whole, static_cast<Width>(whole / parts)};
}

void decode_pack(Decoding& at, ScalarType type) {
  const std::vector<Operand>& parts = at.operands()[1].parts;
  const std::optional<Packing> width = packing_of(type, parts.size());
  if (!width) return at.refuse();
  ValuePlace values[4] = {kNoValue, kNoValue, kNoValue, kNoValue};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    values[i] = at.source(parts[i], width->part, type);
  }
  at.emit_lanes(sized(parts.size() == 4 ? "pack4" : "pack", 8 * width->whole),
                at.result(at.operands()[0], width->whole),
                {values[0], values[1], values[2], values[3]});
}

void decode_unpack(Decoding& at, ScalarType type) {
  const std::vector<Operand>& parts = at.operands()[0].parts;
  const std::optional<Packing> width = packing_of(type, parts.size());
  if (!width) return at.refuse();
  const ValuePlace whole = at.source(at.operands()[1], width->whole, type);
  const std::string form = sized(sized("extract", 8 * width->part), 8 * width->whole);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].kind == OperandKind::kSink) continue;
    at.emit_lanes(form, at.result(parts[i], width->part),
                  {whole, at.constant(4, 8 * width->part * i)});
  }
}

}  // namespace

void decode_lanes(Decoding& at) {
  // Some forms are parts of instructions, and no instructions of PTX.
  for (const std::string_view part : {"pack", "pack4", "extract", "carry", "sum"}) {
    if (at.opcode() == part) return at.refuse();
  }
  const std::vector<std::string>& modifiers = at.instruction().modifiers;
  std::string form(at.opcode());
  for (const std::string& modifier : modifiers) {
    if (modifier != "rn") form += "." + modifier;
  }
  // slct.type.type: the first type by size.
  if (at.opcode() == "slct" && modifiers.size() == 2) {
    const std::optional<ScalarType> type = scalar_type(modifiers[0]);
    if (type) form = sized("slct", bits_of(*type)) + "." + modifiers[1];
  }
  emit_plain(at, form);
}

void decode_move(Decoding& at) {
  const std::optional<ScalarType> type = at.take_type();
  if (!type || at.has_more() || at.operands().size() != 2) return at.refuse();
  if (at.operands()[0].kind == OperandKind::kVector) return decode_unpack(at, *type);
  if (at.operands()[1].kind == OperandKind::kVector) return decode_pack(at, *type);
  emit_plain(at, at.instruction().text());
}

// add.cc, addc, addc.cc, sub..., mad.lo.cc, madc.hi ...: a carry in, a carry out, or both.
void decode_carry(Decoding& at) {
  std::string_view opcode = at.opcode();
  const bool takes_carry = opcode.back() == 'c';
  if (takes_carry) opcode.remove_suffix(1);
  const bool is_product = opcode == "mad";
  const std::string part = is_product && at.take("hi") ? "hi" : "lo";
  if (is_product && part == "lo") at.skip({"lo"});
  const bool makes_carry = at.take("cc");
  const std::optional<ScalarType> type = at.take_type();
  if (!type || at.has_more() || !is_integer(*type) || bits_of(*type) < 32) return at.refuse();
  if (!at.has_operands(is_product ? 4 : 3)) return;
  const auto width = static_cast<Width>(bytes_of(*type));
  ValuePlace a = at.source(at.operands()[1], width, *type);
  ValuePlace b = at.source(at.operands()[2], width, *type);
  if (is_product) {
    a = at.emit_value("mul." + part + "." + std::string(name_of(*type)), width, {a, b});
    b = at.source(at.operands()[3], width, *type);
  }
  const std::string suffix = sized(opcode == "sub" ? "sub" : "add", 8 * width);
  ValuePlace& flag = at.frame().carry;
  if (flag == kNoValue) flag = at.add_value(kPredicateWidth);
  const ValuePlace carry = takes_carry ? flag : at.constant(kPredicateWidth, 0);
  ValuePlace next = kNoValue;
  if (makes_carry) next = at.emit_value("carry." + suffix, kPredicateWidth, {a, b, carry});
  at.emit_lanes("sum." + suffix, at.result(at.operands()[0], width), {a, b, carry});
  if (makes_carry) at.emit_lanes("mov.pred", flag, {next});
}

// Registers may be wider than the types: an operand is cut, an integer result is extended.
void decode_convert(Decoding& at) {
  std::string form = "cvt";
  std::vector<ScalarType> types;
  bool to_integral = false;
  bool is_saturating = false;
  for (const std::string& modifier : at.instruction().modifiers) {
    if (const std::optional<ScalarType> type = scalar_type(modifier)) {
      types.push_back(*type);
    } else if (modifier == "sat") {
      is_saturating = true;
    } else if (modifier != "rn") {
      to_integral |= modifier.size() == 3 && modifier.back() == 'i';
      form += "." + modifier;
    }
  }
  if (types.size() != 2) return at.refuse();
  // Conversions to integers always clamp.
  if (is_saturating && !(to_integral && is_integer(types[0]))) form += ".sat";
  for (const ScalarType type : types) form += "." + std::string(name_of(type));
  const LaneForm* const found = find_lane_form(form);
  if (found == nullptr) return at.refuse();
  if (!at.has_operands(found->b != 0 ? 3 : 2)) return;
  ValuePlace values[2] = {kNoValue, kNoValue};
  const Width widths[2] = {found->a, found->b};
  for (std::size_t i = 0; i + 1 < at.operands().size(); ++i) {
    const Operand& operand = at.operands()[i + 1];
    const Width width = at.register_width(operand);
    if (width > widths[i] && width != kPredicateWidth) {
      values[i] = at.emit_value(conversion('u', widths[i], width), widths[i],
                                {at.source(operand, width, types[1])});
    } else {
      values[i] = at.source(operand, widths[i], types[1]);
    }
  }
  const Operand& to = at.operands()[0];
  const Width width = at.register_width(to);
  if (width <= found->d) {
    return at.emit_lanes(form, at.result(to, found->d), {values[0], values[1]});
  }
  const ValuePlace narrow = at.emit_value(form, found->d, {values[0], values[1]});
  at.emit_lanes(conversion(is_signed(types[0]) ? 's' : 'u', width, found->d), at.result(to, width),
                {narrow});
}

}  // namespace recto::ptx
