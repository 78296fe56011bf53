#pragma once

// What the operands of inline PTX may be: operands of the asm statement, registers that its text
// declares, numbers, and vectors of these. Checked at compile time, because a name that is not
// declared would be taken for another register.

#include <cstddef>
#include <optional>
#include <string_view>

#include "verify/simt/foreign/ptx_opcodes.h"

namespace simt_foreign {

enum class PtxBase : unsigned char { kTen, kSixteen };

constexpr bool is_ptx_digit(char c, PtxBase base) {
  return (c >= '0' && c <= '9') ||
         (base == PtxBase::kSixteen && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
}

constexpr bool are_ptx_digits(std::string_view text, PtxBase base) {
  for (const char c : text) {
    if (!is_ptx_digit(c, base)) return false;
  }
  return !text.empty();
}

// 17, -1, 0x3c00, and 0f3f800000 for the bits of a float. A leading zero would make it octal.
constexpr bool is_ptx_number(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  if (text.size() < 2) return are_ptx_digits(text, PtxBase::kTen);
  if (text[0] != '0') return are_ptx_digits(text, PtxBase::kTen);
  const std::string_view digits = text.substr(2);
  if (text[1] == 'f' || text[1] == 'F')
    return digits.size() == 8 && are_ptx_digits(digits, PtxBase::kSixteen);
  return (text[1] == 'x' || text[1] == 'X') && digits.size() <= 16 &&
         are_ptx_digits(digits, PtxBase::kSixteen);
}

// The value of a number that is less than 2^64.
constexpr std::size_t ptx_decimal(std::string_view digits) {
  std::size_t value = 0;
  for (const char c : digits) value = 10 * value + static_cast<std::size_t>(c - '0');
  return value;
}

// Whether `declared`, a name or name<count> for name0, name1 ..., declares the register.
constexpr bool declares_ptx(std::string_view declared, std::string_view name) {
  const std::size_t open = declared.find('<');
  if (open == std::string_view::npos) return declared == name;
  const std::string_view stem = declared.substr(0, open);
  if (declared.back() != '>' || name.substr(0, stem.size()) != stem) return false;
  const std::string_view count = declared.substr(open + 1, declared.size() - open - 2);
  const std::string_view number = name.substr(stem.size());
  return are_ptx_digits(count, PtxBase::kTen) && are_ptx_digits(number, PtxBase::kTen) &&
         number.size() < 10 && count.size() < 10 && ptx_decimal(number) < ptx_decimal(count);
}

// Whether a statement `.reg .type name, name ...` of `text` declares it.
constexpr bool is_ptx_register(std::string_view text, std::string_view name) {
  for (;;) {
    std::string_view statement = next_ptx_statement(text);
    if (statement.empty()) return false;
    if (ptx_name(statement) != ".reg") continue;
    statement = trim_ptx(statement.substr(4));
    statement = statement.substr(ptx_name(statement).size());
    while (!statement.empty()) {
      if (declares_ptx(next_ptx_operand(statement), name)) return true;
    }
  }
}

// Whether `operand` can be written: %0, %1 and so on, or a register.
constexpr bool is_ptx_place(std::string_view text, std::string_view operand, std::size_t given) {
  if (operand.empty()) return false;
  if (is_ptx_register(text, operand)) return true;
  const std::string_view number = operand.substr(1);
  return operand.front() == '%' && are_ptx_digits(number, PtxBase::kTen) && number.size() < 10 &&
         ptx_decimal(number) < given;
}

// What one operand of an instruction may be.
enum class PtxRole : unsigned char { kDestination, kSource };

constexpr bool is_known_ptx_operand(std::string_view text, std::string_view operand,
                                    std::size_t given, PtxRole role) {
  return is_ptx_place(text, operand, given) || (role == PtxRole::kSource && is_ptx_number(operand));
}

// Whether a statement has as many operands as its instruction takes, all of them known; `given` is
// the number of those of the asm statement. Only moves take vectors.
constexpr bool has_known_ptx_operands(std::string_view text, std::string_view statement,
                                      std::size_t given) {
  const std::string_view name = ptx_name(statement);
  const std::optional<PtxInstruction> instruction = find_ptx(name);
  std::string_view operands = statement.substr(name.size());
  int count = 0;
  for (; !operands.empty(); ++count) {
    const PtxRole role = count == 0 ? PtxRole::kDestination : PtxRole::kSource;
    const std::string_view operand = next_ptx_operand(operands);
    const bool is_vector = is_ptx_vector(operand);
    if (is_vector && instruction->opcode != PtxOpcode::kMove) return false;
    std::string_view elements = is_vector ? ptx_elements(operand) : operand;
    do {
      if (!is_known_ptx_operand(text, next_ptx_operand(elements), given, role)) return false;
    } while (!elements.empty());
  }
  return count == instruction->sources + 1;
}

// The same for all statements, whose instructions must be known.
constexpr bool has_known_ptx_operands(std::string_view text, std::size_t given) {
  std::string_view rest = text;
  for (;;) {
    const std::string_view statement = next_ptx_statement(rest);
    if (statement.empty()) return true;
    if (ptx_name(statement) == ".reg") continue;
    if (!has_known_ptx_operands(text, statement, given)) return false;
  }
}

}  // namespace simt_foreign
