#pragma once

// The statements of inline PTX, with their operands: operands of the asm statement, registers that
// its text declares, numbers, and vectors of these. They are parsed at compile time, too, because a
// name that is not declared would be taken for another register.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "verify/simt/foreign/ptx_opcodes.h"

namespace simt_foreign {

constexpr bool is_ptx_digit(char c) { return c >= '0' && c <= '9'; }

// The value of `text` in digits of that base, modulo 2^64; nothing if there are other characters,
// or none.
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
  const bool is_negative = text.substr(0, 1) == "-";
  if (is_negative) text.remove_prefix(1);
  const std::string_view prefix = text.substr(0, 2);
  const std::string_view digits = text.substr(prefix.size());
  std::optional<std::uint64_t> number;
  if (prefix == "0x" || prefix == "0X") {
    if (digits.size() <= 16) number = ptx_digits(digits, 16);
  } else if (prefix == "0f" || prefix == "0F") {
    if (digits.size() == 8) number = ptx_digits(digits, 16);
  } else if (text.size() == 1 || text.substr(0, 1) != "0") {
    number = ptx_digits(text);
  }
  return number && is_negative ? std::optional(0 - *number) : number;
}

// The place of a value: an operand of the asm statement or, numbered after these, a register; and a
// number added to it. Without a place, a number.
struct PtxElement {
  int place = -1;
  std::uint64_t number = 0;
};

// %0, %1 and so on, if that many operands are given.
constexpr std::optional<PtxElement> ptx_given(std::string_view operand, std::size_t given) {
  if (operand.substr(0, 1) != "%" || operand.size() > 10) return std::nullopt;
  const std::optional<std::uint64_t> number = ptx_digits(operand.substr(1));
  if (!number || *number >= given) return std::nullopt;
  return PtxElement{static_cast<int>(*number)};
}

// The register of that name, if `text` declares it: `.reg .type name, name<count>;` declares name,
// and name0, name1 ... They are counted from `given`.
constexpr std::optional<PtxElement> ptx_register(std::string_view text, std::string_view name,
                                                 std::size_t given) {
  std::uint64_t place = given;
  for (;;) {
    std::string_view statement = next_ptx_statement(text);
    if (statement.empty()) return std::nullopt;
    if (ptx_name(statement) != ".reg") continue;
    statement = trim_ptx(statement.substr(4));
    statement = statement.substr(ptx_name(statement).size());
    while (!statement.empty()) {
      const std::string_view declared = next_ptx_operand(statement);
      const std::string_view stem = declared.substr(0, declared.find('<'));
      const bool is_range = stem.size() < declared.size() && declared.back() == '>';
      const std::uint64_t count =
          is_range ? ptx_digits(declared.substr(stem.size() + 1, declared.size() - stem.size() - 2))
                         .value_or(0)
                   : 1;
      const std::optional<std::uint64_t> number =
          name.substr(0, stem.size()) == stem ? ptx_digits(name.substr(stem.size())) : std::nullopt;
      if (is_range ? number.value_or(count) < count : declared == name) {
        return PtxElement{static_cast<int>(place + (is_range ? *number : 0))};
      }
      place += count;
    }
  }
}

// An operand, or the elements of a vector, lowest first.
struct PtxParsed {
  std::array<PtxElement, 4> elements = {};
  unsigned count = 0;
};

struct PtxStatement {
  PtxInstruction instruction = {};
  std::array<PtxParsed, 4> operands = {};  // the destination, and the sources
  unsigned width = 0;                      // of the result, in bits
};

constexpr std::optional<PtxParsed> parse_ptx_operand(std::string_view text,
                                                     std::string_view operand, std::size_t given) {
  std::string_view elements = is_ptx_vector(operand) ? ptx_elements(operand) : operand;
  PtxParsed parsed;
  do {
    const std::string_view element = next_ptx_operand(elements);
    std::optional<PtxElement> known = ptx_given(element, given);
    if (!known) known = ptx_register(text, element, given);
    if (const auto number = ptx_number(element); !known && number) known = PtxElement{-1, *number};
    if (!known || parsed.count == parsed.elements.size()) return std::nullopt;
    parsed.elements[parsed.count++] = *known;
  } while (!elements.empty());
  return parsed;
}

// A statement of `text` with an instruction of the table; nothing if its operands do not fit the
// instruction. `given` is the number of the asm statement's operands. Only moves take vectors.
constexpr std::optional<PtxStatement> parse_ptx(std::string_view text, std::string_view statement,
                                                std::size_t given) {
  const std::string_view name = ptx_name(statement);
  PtxStatement parsed = {.instruction = *find_ptx(name)};
  std::string_view operands = statement.substr(name.size());
  int count = 0;
  for (; !operands.empty(); ++count) {
    const std::string_view operand = next_ptx_operand(operands);
    const std::optional<PtxParsed> known = parse_ptx_operand(text, operand, given);
    if (count > parsed.instruction.sources || !known) return std::nullopt;
    for (unsigned i = 0; i < known->count && count == 0; ++i) {
      if (known->elements[i].place < 0) return std::nullopt;
    }
    if (is_ptx_vector(operand) && parsed.instruction.operation != PtxOperation::kMove) {
      return std::nullopt;
    }
    parsed.operands[static_cast<std::size_t>(count)] = *known;
  }
  // The last type or, for conversions, the one before.
  const bool is_conversion = parsed.instruction.operation == PtxOperation::kConvert;
  const std::string_view types = is_conversion ? name.substr(0, name.rfind('.')) : name;
  const std::string_view type = types.substr(types.rfind('.') + 1);
  parsed.width = type == "f16" || type == "b16" ? 16 : type == "b64" ? 64 : 32;
  return count == parsed.instruction.sources + 1 ? std::optional(parsed) : std::nullopt;
}

// Whether all statements, whose instructions must be known, have operands that fit.
constexpr bool has_known_ptx_operands(std::string_view text, std::size_t given) {
  std::string_view rest = text;
  for (;;) {
    const std::string_view statement = next_ptx_statement(rest);
    if (statement.empty()) return true;
    if (ptx_name(statement) != ".reg" && !parse_ptx(text, statement, given)) return false;
  }
}

}  // namespace simt_foreign
