// Operands of instructions.

#include "verify/ptx/text/function_parser.h"

namespace recto::ptx::text {
namespace {

constexpr unsigned kNestingMax = 32;

}  // namespace

bool FunctionParser::read_operands(Instruction* instruction) {
  while (!tokens_.take(';')) {
    Operand operand;
    if (!read_operand(&operand, 0)) return false;
    instruction->operands.push_back(std::move(operand));
    if (tokens_.now().is(';')) continue;
    if (!tokens_.expect(',')) return false;
  }
  return true;
}

bool FunctionParser::read_operand(Operand* operand, unsigned depth) {
  if (depth > kNestingMax) return tokens_.fail(tokens_.line(), "operands nest too deeply");
  if (!read_simple_operand(operand, depth)) return false;
  if (!tokens_.take('|')) return true;
  Operand pair{OperandKind::kPair};
  pair.parts.push_back(std::move(*operand));
  pair.parts.emplace_back();
  if (!read_simple_operand(&pair.parts[1], depth)) return false;
  *operand = std::move(pair);
  return true;
}

bool FunctionParser::read_simple_operand(Operand* operand, unsigned depth) {
  const Token& token = tokens_.now();
  if (token.is('[')) return read_address(operand, depth);
  if (tokens_.take('{')) {
    operand->kind = OperandKind::kVector;
    return read_list('}', operand, depth);
  }
  if (tokens_.take('(')) {
    operand->kind = OperandKind::kList;
    return read_list(')', operand, depth);
  }
  if (tokens_.take('!')) {
    operand->is_negated = true;
    return read_word(operand);
  }
  if (token.kind == TokenKind::kWord) return read_word(operand);
  return read_number(operand);
}

bool FunctionParser::read_list(char end, Operand* operand, unsigned depth) {
  while (!tokens_.take(end)) {
    operand->parts.emplace_back();
    if (!read_operand(&operand->parts.back(), depth + 1)) return false;
    if (!tokens_.now().is(end) && !tokens_.expect(',')) return false;
  }
  return true;
}

bool FunctionParser::read_number(Operand* operand) {
  bool is_negative = false;
  while (tokens_.now().is('-') || tokens_.now().is('+')) {
    is_negative ^= tokens_.now().is('-');
    tokens_.advance();
  }
  const std::optional<Number> number =
      tokens_.now().kind == TokenKind::kNumber ? number_of(tokens_.now().text) : std::nullopt;
  if (!number) return tokens_.fail_expecting("an operand");
  tokens_.advance();
  operand->kind = number->kind;
  operand->bits = number->bits;
  if (!is_negative) return true;
  switch (number->kind) {
    case OperandKind::kFloat32:
      operand->bits ^= std::uint64_t{1} << 31;
      break;
    case OperandKind::kFloat64:
      operand->bits ^= std::uint64_t{1} << 63;
      break;
    default:
      operand->bits = 0 - operand->bits;
  }
  return true;
}

bool FunctionParser::read_word(Operand* operand) {
  std::string name;
  if (!tokens_.read_name(&name)) return false;
  if (name == "_") {
    operand->kind = OperandKind::kSink;
    return true;
  }
  while (tokens_.now().kind == TokenKind::kDotted && !tokens_.now().follows_space) {
    name += "." + tokens_.take_text();
  }
  if (!resolve(name, operand)) return false;
  if (tokens_.now().is('+') || tokens_.now().is('-')) return tokens_.read_signed(&operand->offset);
  return true;
}

bool FunctionParser::read_address(Operand* operand, unsigned depth) {
  if (!tokens_.expect('[')) return false;
  operand->kind = OperandKind::kAddress;
  do {
    operand->parts.emplace_back();
    if (!read_operand(&operand->parts.back(), depth + 1)) return false;
  } while (tokens_.take(','));
  Operand& base = operand->parts[0];
  operand->offset = base.offset;
  base.offset = 0;
  return tokens_.expect(']');
}

}  // namespace recto::ptx::text
