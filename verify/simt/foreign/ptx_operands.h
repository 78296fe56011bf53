#pragma once

// What the operands of inline PTX may be: operands of the asm statement, registers that its text
// declares, numbers, and vectors of these. Checked at compile time, because a name that is not
// declared would be taken for another register.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "verify/simt/foreign/ptx_opcodes.h"

namespace simt_foreign {

constexpr bool is_ptx_digit(char c) { return c >= '0' && c <= '9'; }

// The value of digits of that base, modulo 2^64; nothing if there are none, or anything else.
constexpr std::optional<std::uint64_t> ptx_digits(std::string_view text, unsigned base = 10) {
  std::uint64_t value = 0;
  for (const char c : text) {
    const unsigned digit = is_ptx_digit(c)        ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                           : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                                  : base;
    if (digit >= base) return std::nullopt;
    value = base * value + digit;
  }
  return text.empty() ? std::nullopt : std::optional(value);
}

// 17, -1, 0x3c00, and 0f3f800000 for the bits of a float. A leading zero would make it octal.
constexpr std::optional<std::uint64_t> ptx_number(std::string_view text) {
  if (text.substr(0, 1) == "-") {
    const std::optional<std::uint64_t> number = ptx_number(text.substr(1));
    return number && text.substr(1, 1) != "-" ? std::optional(0 - *number) : std::nullopt;
  }
  const std::string_view digits = text.substr(text.size() < 2 ? text.size() : 2);
  const std::string_view prefix = text.substr(0, text.size() - digits.size());
  if (prefix == "0f" || prefix == "0F")
    return digits.size() == 8 ? ptx_digits(digits, 16) : std::nullopt;
  if (prefix == "0x" || prefix == "0X")
    return digits.size() <= 16 ? ptx_digits(digits, 16) : std::nullopt;
  const bool is_octal = text.size() > 1 && text.front() == '0';
  return is_octal ? std::nullopt : ptx_digits(text);
}

// The number of the asm statement's operand that is meant: of %0, %1 and so on.
constexpr std::optional<std::size_t> ptx_given(std::string_view operand) {
  if (operand.substr(0, 1) != "%" || operand.size() > 10) return std::nullopt;
  return ptx_digits(operand.substr(1));
}

// Whether `declared`, a name or name<count> for name0, name1 ..., declares the register.
constexpr bool declares_ptx(std::string_view declared, std::string_view name) {
  const std::size_t open = declared.find('<');
  if (open == std::string_view::npos) return declared == name;
  const std::string_view stem = declared.substr(0, open);
  if (declared.back() != '>' || name.substr(0, stem.size()) != stem) return false;
  const auto count = ptx_digits(declared.substr(open + 1, declared.size() - open - 2));
  const auto number = ptx_digits(name.substr(stem.size()));
  return count && number && *number < *count;
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
  return is_ptx_register(text, operand) || ptx_given(operand).value_or(given) < given;
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
    const std::string_view operand = next_ptx_operand(operands);
    const bool is_vector = is_ptx_vector(operand);
    if (is_vector && instruction->operation != PtxOperation::kMove) return false;
    std::string_view elements = is_vector ? ptx_elements(operand) : operand;
    do {
      const std::string_view element = next_ptx_operand(elements);
      const bool is_source_number = count > 0 && ptx_number(element).has_value();
      if (!is_source_number && !is_ptx_place(text, element, given)) return false;
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
