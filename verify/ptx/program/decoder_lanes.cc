// Instructions that compute each lane by itself.

#include <algorithm>

#include "verify/ptx/program/decoder.h"

namespace recto::ptx {
namespace {

using text::OperandKind;

std::string sized(std::string_view opcode, unsigned bits) {
  return std::string(opcode) + ".b" + std::to_string(bits);
}

}  // namespace

// The table leaves out .rn, and has moves and selections by size only.
const LaneForm* Decoder::form_of(const std::string& form, std::string_view opcode) const {
  if (const LaneForm* found = find_lane_form(form)) return found;
  if (opcode != "mov" && opcode != "selp") return nullptr;
  const std::optional<ScalarType> type = scalar_type(form.substr(opcode.size() + 1));
  if (!type) return nullptr;
  return find_lane_form(sized(opcode, bits_of(*type)));
}

bool Decoder::decode_lanes() {
  std::string form = instruction_->opcode;
  for (const std::string& modifier : instruction_->modifiers) {
    if (modifier != "rn") form += "." + modifier;
  }
  // d|p of a few instructions is not supported, so that each operand is one value.
  std::vector<const Operand*> operands;
  for (const Operand& operand : instruction_->operands) operands.push_back(&operand);
  // slct.type.type: the first type by size.
  if (instruction_->opcode == "slct" && instruction_->modifiers.size() == 2) {
    const std::optional<ScalarType> type = scalar_type(instruction_->modifiers[0]);
    if (type) form = sized("slct", bits_of(*type)) + "." + instruction_->modifiers[1];
  }
  return emit_form(std::move(form), operands);
}

bool Decoder::emit_form(std::string form, const std::vector<const Operand*>& operands) {
  const LaneForm* found = form_of(form, instruction_->opcode);
  if (found == nullptr) return refuse();
  const Width widths[] = {found->a, found->b, found->c, found->e};
  const auto count = static_cast<std::size_t>(
      std::find(std::begin(widths), std::end(widths), Width{0}) - std::begin(widths));
  if (operands.size() != count + 1) {
    return fail("expected " + std::to_string(count + 1) + " operands");
  }
  ScalarType type = ScalarType::kB32;
  for (const std::string& modifier : instruction_->modifiers) {
    type = scalar_type(modifier).value_or(type);
  }
  ValuePlace values[4] = {kNoValue, kNoValue, kNoValue, kNoValue};
  for (std::size_t i = 0; i < count; ++i) values[i] = source(*operands[i + 1], widths[i], type);
  const ValuePlace d = result(*operands[0], found->d);
  if (!status_.is_ok()) return false;
  emit_lanes(found->form, d, {values[0], values[1], values[2], values[3]});
  return true;
}

// add.cc, addc, addc.cc, sub..., mad.lo.cc, madc.hi ...: a carry in, a carry out, or both.
bool Decoder::decode_carry() {
  InstructionReader reader(*instruction_);
  std::string_view opcode = instruction_->opcode;
  const bool takes_carry = opcode.back() == 'c';
  if (takes_carry) opcode.remove_suffix(1);
  const bool is_product = opcode == "mad";
  std::string part;
  if (is_product) {
    part = reader.take("hi") ? "hi" : "lo";
    if (part == "lo") reader.skip({"lo"});
  }
  const bool makes_carry = reader.take("cc");
  const std::optional<ScalarType> type = reader.take_type();
  if (!type || reader.has_more() || !is_integer(*type) || bits_of(*type) < 32) return refuse();
  const Width width = static_cast<Width>(bytes_of(*type));
  const auto& operands = instruction_->operands;
  if (operands.size() != (is_product ? 4U : 3U)) return fail("operands are missing");
  if (frame_->carry == kNoValue) frame_->carry = add_value(kPredicateWidth);
  ValuePlace a = source(operands[1], width, *type);
  ValuePlace b = source(operands[2], width, *type);
  const ValuePlace d = result(operands[0], width);
  if (is_product) {
    const ValuePlace product = add_value(width);
    emit_lanes("mul." + part + "." + std::string(name_of(*type)), product, {a, b});
    a = product;
    b = source(operands[3], width, *type);
  }
  const std::string suffix =
      std::string(opcode == "sub" ? "sub" : "add") + ".b" + std::to_string(8 * width);
  const ValuePlace carry = takes_carry ? frame_->carry : constant(kPredicateWidth, 0);
  const ValuePlace next = add_value(kPredicateWidth);
  if (makes_carry) emit_lanes("carry." + suffix, next, {a, b, carry});
  emit_lanes("sum." + suffix, d, {a, b, carry});
  if (makes_carry) emit_lanes("mov.pred", frame_->carry, {next});
  return status_.is_ok();
}

// setp.cmp[.bool][.ftz].type p[|q], a, b[, [!]c] and set.cmp[.bool][.ftz].dtype.stype d, a, b[, c].
bool Decoder::decode_compare() {
  InstructionReader reader(*instruction_);
  const auto& operands = instruction_->operands;
  const bool is_set = instruction_->opcode == "set";
  std::string form = "setp." + std::string(reader.peek());
  if (!reader.take(reader.peek())) return refuse();
  const auto logic = reader.take_one_of<std::string_view>(
      {{"and", "and.pred"}, {"or", "or.pred"}, {"xor", "xor.pred"}});
  if (reader.take("ftz")) form += ".ftz";
  const std::optional<ScalarType> to = is_set ? reader.take_type() : ScalarType::kPred;
  const std::optional<ScalarType> type = reader.take_type();
  if (!to || !type || reader.has_more()) return refuse();
  form += "." + std::string(name_of(*type));
  const LaneForm* found = find_lane_form(form);
  if (found == nullptr) return refuse();
  if (operands.size() != (logic ? 4U : 3U)) return fail("operands are missing");
  const ValuePlace a = source(operands[1], found->a, *type);
  const ValuePlace b = source(operands[2], found->b, *type);
  const bool is_pair = operands[0].kind == OperandKind::kPair;
  const bool is_plain = !is_set && !is_pair && !logic;
  const ValuePlace compared =
      is_plain ? result(operands[0], kPredicateWidth) : add_value(kPredicateWidth);
  const ValuePlace other = logic ? predicate(operands[3]) : kNoValue;
  if (!status_.is_ok()) return false;
  emit_lanes(form, compared, {a, b});
  if (is_plain) return true;
  if (is_set) {
    ValuePlace truth = compared;
    if (logic) emit_lanes(*logic, truth = add_value(kPredicateWidth), {compared, other});
    if (bits_of(*to) != 32) return refuse();
    const std::uint64_t one = *to == ScalarType::kF32 ? 0x3f800000 : 0xffffffff;
    emit_lanes("selp.b32", result(operands[0], 4), {constant(4, one), constant(4, 0), truth});
    return status_.is_ok();
  }
  // Both results are computed before either is written: one may be `other`.
  const Operand& first = is_pair ? operands[0].parts[0] : operands[0];
  ValuePlace p = compared;
  ValuePlace q = add_value(kPredicateWidth);
  if (logic) emit_lanes(*logic, p = add_value(kPredicateWidth), {compared, other});
  if (is_pair) {
    emit_lanes("not.pred", q, {compared});
    if (logic) {
      const ValuePlace combined = add_value(kPredicateWidth);
      emit_lanes(*logic, combined, {q, other});
      q = combined;
    }
    emit_lanes("mov.pred", result(operands[0].parts[1], kPredicateWidth), {q});
  }
  emit_lanes("mov.pred", result(first, kPredicateWidth), {p});
  return status_.is_ok();
}

// Registers may be wider than the types: an operand is cut, an integer result is extended.
bool Decoder::decode_convert() {
  std::string form = "cvt";
  std::vector<ScalarType> types;
  bool to_integral = false;
  bool is_saturating = false;
  for (const std::string& modifier : instruction_->modifiers) {
    if (const std::optional<ScalarType> type = scalar_type(modifier)) {
      types.push_back(*type);
    } else if (modifier == "sat") {
      is_saturating = true;
    } else if (modifier != "rn") {
      to_integral |= modifier.size() == 3 && modifier.back() == 'i';
      form += "." + modifier;
    }
  }
  if (types.size() != 2) return refuse();
  // Conversions to integers always clamp.
  if (is_saturating && !(to_integral && is_integer(types[0]))) form += ".sat";
  for (const ScalarType type : types) form += "." + std::string(name_of(type));
  const LaneForm* found = find_lane_form(form);
  if (found == nullptr) return refuse();
  const auto& operands = instruction_->operands;
  if (operands.size() != (found->b != 0 ? 3U : 2U)) return fail("operands are missing");
  ValuePlace values[2] = {kNoValue, kNoValue};
  const Width widths[2] = {found->a, found->b};
  for (std::size_t i = 0; i + 1 < operands.size(); ++i) {
    const Width width = register_width(operands[i + 1]);
    if (width > widths[i] && width != kPredicateWidth) {
      values[i] = add_value(widths[i]);
      emit_lanes("cvt.u" + std::to_string(8 * widths[i]) + ".u" + std::to_string(8 * width),
                 values[i], {source(operands[i + 1], width, types[1])});
    } else {
      values[i] = source(operands[i + 1], widths[i], types[1]);
    }
  }
  const Width width = register_width(operands[0]);
  if (width <= found->d) {
    const ValuePlace d = result(operands[0], found->d);
    if (status_.is_ok()) emit_lanes(form, d, {values[0], values[1]});
    return status_.is_ok();
  }
  const ValuePlace narrow = add_value(found->d);
  const ValuePlace d = result(operands[0], width);
  if (!status_.is_ok()) return false;
  emit_lanes(form, narrow, {values[0], values[1]});
  const std::string sign = is_signed(types[0]) ? "s" : "u";
  emit_lanes("cvt." + sign + std::to_string(8 * width) + "." + sign + std::to_string(8 * found->d),
             d, {narrow});
  return status_.is_ok();
}

bool Decoder::decode_move() {
  const auto& operands = instruction_->operands;
  if (instruction_->modifiers.size() != 1 || operands.size() != 2) return refuse();
  const std::optional<ScalarType> type = scalar_type(instruction_->modifiers[0]);
  if (!type) return refuse();
  if (operands[0].kind == OperandKind::kVector) return decode_unpack(*type);
  if (operands[1].kind == OperandKind::kVector) return decode_pack(*type);
  return emit_form(instruction_->text(), {&operands[0], &operands[1]});
}

bool Decoder::decode_pack(ScalarType type) {
  const auto& parts = instruction_->operands[1].parts;
  const auto width = static_cast<Width>(bytes_of(type));
  if (parts.empty() || width % parts.size() != 0 || width / parts.size() < 2) return refuse();
  const auto part = static_cast<Width>(width / parts.size());
  ValuePlace values[4] = {kNoValue, kNoValue, kNoValue, kNoValue};
  if (parts.size() > 4) return refuse();
  for (std::size_t i = 0; i < parts.size(); ++i) values[i] = source(parts[i], part, type);
  const ValuePlace d = result(instruction_->operands[0], width);
  if (!status_.is_ok()) return false;
  emit_lanes(sized(parts.size() == 4 ? "pack4" : "pack", 8 * width), d,
             {values[0], values[1], values[2], values[3]});
  return status_.is_ok();
}

bool Decoder::decode_unpack(ScalarType type) {
  const auto& parts = instruction_->operands[0].parts;
  const auto width = static_cast<Width>(bytes_of(type));
  if (parts.empty() || width % parts.size() != 0 || width / parts.size() < 2) return refuse();
  const auto part = static_cast<Width>(width / parts.size());
  const ValuePlace whole = source(instruction_->operands[1], width, type);
  const std::string form = sized(sized("extract", 8 * part), 8 * width);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].kind == OperandKind::kSink) continue;
    const ValuePlace d = result(parts[i], part);
    if (!status_.is_ok()) return false;
    emit_lanes(form, d, {whole, constant(4, 8 * part * i)});
  }
  return status_.is_ok();
}

// cvta[.to].space.size d, a: the windows of shared, local and param are added or taken away.
bool Decoder::decode_address_conversion() {
  InstructionReader reader(*instruction_);
  const bool is_to = reader.take("to");
  const auto window = reader.take_one_of<std::uint64_t>({{"global", 0},
                                                         {"const", 0},
                                                         {"shared", kSharedWindow},
                                                         {"shared::cta", kSharedWindow},
                                                         {"shared::cluster", kSharedWindow},
                                                         {"local", kLocalWindow},
                                                         {"param", kParamWindow},
                                                         {"param::entry", kParamWindow}});
  const std::optional<ScalarType> type = reader.take_type();
  const auto& operands = instruction_->operands;
  if (!window || !type || reader.has_more() || bits_of(*type) != 64) return refuse();
  if (operands.size() != 2) return fail("expected 2 operands");
  const ValuePlace a = source(operands[1], 8, *type);
  const ValuePlace d = result(operands[0], 8);
  if (!status_.is_ok()) return false;
  if (*window == 0) {
    emit_lanes("mov.b64", d, {a});
  } else {
    emit_lanes(is_to ? "sub.u64" : "add.u64", d, {a, constant(8, *window)});
  }
  return true;
}

bool Decoder::decode_space_test() {
  InstructionReader reader(*instruction_);
  const auto window = reader.take_one_of<std::uint64_t>({{"global", 0},
                                                         {"shared", kSharedWindow},
                                                         {"shared::cta", kSharedWindow},
                                                         {"shared::cluster", kSharedWindow},
                                                         {"local", kLocalWindow},
                                                         {"param", kParamWindow}});
  const auto& operands = instruction_->operands;
  if (!window || reader.has_more() || operands.size() != 2) return refuse();
  const ValuePlace a = source(operands[1], 8, ScalarType::kU64);
  const ValuePlace d = result(operands[0], kPredicateWidth);
  const ValuePlace upper = add_value(8);
  if (!status_.is_ok()) return false;
  emit_lanes("shr.u64", upper, {a, constant(4, kWindowShift)});
  emit_lanes("setp.eq.u64", d, {upper, constant(8, *window >> kWindowShift)});
  return true;
}

}  // namespace recto::ptx
