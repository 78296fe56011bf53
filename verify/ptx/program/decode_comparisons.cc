// Comparisons, alone and in pairs, and logic that tests its result.

#include "verify/ptx/program/families.h"

namespace recto::ptx {
namespace {

// The type of each half of a pair, and any other type itself.
ScalarType element_of(ScalarType type) {
  if (type == ScalarType::kF16x2) return ScalarType::kF16;
  return type == ScalarType::kBf16x2 ? ScalarType::kBf16 : type;
}
bool is_pair(ScalarType type) { return element_of(type) != type; }

// What set gives where the comparison is true.
std::uint64_t truth_of(ScalarType type) {
  switch (element_of(type)) {
    case ScalarType::kF32:
      return 0x3f800000;
    case ScalarType::kF16:
      return 0x3c00;
    case ScalarType::kBf16:
      return 0x3f80;
    default:
      return ~std::uint64_t{0};
  }
}

// Whether set has such results. PTX ISA, "Comparison and Selection Instructions: set" and "Half
// Precision Comparison Instructions: set".
bool may_set(ScalarType to, ScalarType type) {
  using enum ScalarType;
  if (to == kU32 || to == kS32) return true;
  if (is_pair(type)) return to == type;
  return to == kF32 || to == kF16 || to == kBf16 || to == kU16 || to == kS16;
}

struct CompareForm {
  bool is_set = false;
  std::string name = {};        // of the form, up to its type
  std::string_view logic = {};  // and.pred: with another predicate; empty: none
  ScalarType to = ScalarType::kPred;
  ScalarType type = ScalarType::kB32;
};

std::optional<CompareForm> take_compare_form(Decoding& at) {
  CompareForm form;
  form.is_set = at.opcode() == "set";
  form.name = "setp." + std::string(at.peek());
  if (!at.take(at.peek())) return std::nullopt;
  form.logic = at.take_one_of<std::string_view>(
                     {{"and", "and.pred"}, {"or", "or.pred"}, {"xor", "xor.pred"}})
                   .value_or("");
  if (at.take("ftz")) form.name += ".ftz";
  const auto to = form.is_set ? at.take_type() : ScalarType::kPred;
  const auto type = at.take_type();
  if (!to || !type || at.has_more() || (form.is_set && !may_set(*to, *type))) return std::nullopt;
  form.to = *to;
  form.type = *type;
  form.name += "." + std::string(name_of(element_of(*type)));
  return form;
}

}  // namespace

// setp.cmp[.bool][.ftz].type p[|q], a, b[, [!]c] and set.cmp[.bool][.ftz].dtype.stype d, a, b[, c].
// Pairs are compared half by half, to p and q or to the halves of d.
void decode_compare(Decoding& at) {
  const std::optional<CompareForm> form = take_compare_form(at);
  const LaneForm* const found = form ? find_lane_form(form->name) : nullptr;
  if (found == nullptr) return at.refuse();
  if (!at.has_operands(form->logic.empty() ? 3 : 4)) return;
  const Operand& results = at.operands()[0];
  const bool has_two = results.kind == OperandKind::kPair;
  const bool has_halves = is_pair(form->type);
  const Width width = has_halves ? Width{4} : found->a;
  const ValuePlace a = at.source(at.operands()[1], width, form->type);
  const ValuePlace b = at.source(at.operands()[2], width, form->type);
  if (!form->is_set && !has_two && !has_halves && form->logic.empty()) {
    return at.emit_lanes(form->name, at.result(results, kPredicateWidth), {a, b});
  }
  const ValuePlace other = form->logic.empty() ? kNoValue : at.predicate(at.operands()[3]);
  const auto combined = [&](ValuePlace truth) {
    return form->logic.empty() ? truth
                               : at.emit_value(form->logic, kPredicateWidth, {truth, other});
  };
  const auto half_of = [&](ValuePlace pair, unsigned shift) {
    return at.emit_value("extract.b16.b32", 2, {pair, at.constant(4, shift)});
  };
  const auto compared = [&](unsigned shift) {
    const ValuePlace x = has_halves ? half_of(a, shift) : a;
    const ValuePlace y = has_halves ? half_of(b, shift) : b;
    return at.emit_value(form->name, kPredicateWidth, {x, y});
  };
  const ValuePlace truth = compared(0);
  const ValuePlace p = combined(truth);
  ValuePlace q = kNoValue;
  if (has_halves) q = combined(compared(16));
  if (form->is_set) {
    const Width to_width = has_halves ? Width{2} : static_cast<Width>(bytes_of(form->to));
    const auto selected = [&](ValuePlace predicate, ValuePlace to) {
      at.emit_lanes(
          to_width == 2 ? "selp.b16" : "selp.b32", to,
          {at.constant(to_width, truth_of(form->to)), at.constant(to_width, 0), predicate});
      return to;
    };
    const ValuePlace d = at.result(results, static_cast<Width>(bytes_of(form->to)));
    if (!has_halves) {
      selected(p, d);
    } else {
      const ValuePlace lower = selected(p, at.add_temporary(2));
      at.emit_lanes("pack.b32", d, {lower, selected(q, at.add_temporary(2))});
    }
    return;
  }
  // Both results are computed before either is written: one may be `other`. One may be the guard,
  // which is written last.
  const ValuePlace to_p = at.result(has_two ? results.parts[0] : results, kPredicateWidth);
  if (!has_two) return at.emit_lanes("mov.pred", to_p, {p});
  if (!has_halves) q = combined(at.emit_value("not.pred", kPredicateWidth, {truth}));
  const ValuePlace to_q = at.result(results.parts[1], kPredicateWidth);
  if (!at.is_guard(to_q)) at.emit_lanes("mov.pred", to_q, {q});
  at.emit_lanes("mov.pred", to_p, {p});
  if (at.is_guard(to_q)) at.emit_lanes("mov.pred", to_q, {q});
}

// lop3.b32 d, a, b, c, table, and lop3.{and, or}.b32 d|p, a, b, c, table, q: p is (d != 0) op q.
void decode_logic(Decoding& at) {
  const auto logic = at.take_one_of<std::string_view>({{"and", "and.pred"}, {"or", "or.pred"}});
  if (!logic) return decode_lanes(at);
  if (!at.take("b32") || at.has_more()) return at.refuse();
  if (!at.has_operands(6)) return;
  const std::vector<Operand>& operands = at.operands();
  if (operands[0].kind != OperandKind::kPair) return at.refuse();
  const ValuePlace d = at.emit_value("lop3.b32", 4,
                                     {at.source32(operands[1]), at.source32(operands[2]),
                                      at.source32(operands[3]), at.source32(operands[4])});
  const ValuePlace truth = at.emit_value("setp.ne.b32", kPredicateWidth, {d, at.constant(4, 0)});
  const ValuePlace p = at.emit_value(*logic, kPredicateWidth, {truth, at.predicate(operands[5])});
  const Fields results = at.results(operands[0]);
  at.emit_lanes("mov.b32", results.d, {d});
  at.emit_lanes("mov.pred", results.e, {p});
}

}  // namespace recto::ptx
